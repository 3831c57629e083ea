//! The gRPC contract, and the Rust types that are kept of it.

use std::path::Path;

use prost::Message;

#[test]
fn the_types_in_the_repository_are_those_of_the_contract() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.join("../../proto");
    let contract = protox::compile([root.join("chronos/v1/chronos.proto")], [&root]).unwrap();
    let bytes = contract.encode_to_vec();
    let out = tempfile::tempdir().unwrap();
    // It may hold secrets, so it is shown by hand.
    let build = tonic_prost_build::configure().out_dir(out.path()).skip_debug(["chronos.v1.Http"]);
    build.compile_fds(contract).unwrap();
    let types = std::fs::read(out.path().join("chronos.v1.rs")).unwrap();
    for (name, written) in [("chronos.v1.rs", types), ("chronos.v1.bin", bytes)] {
        let path = package.join("src/proto").join(name);
        if std::env::var_os("CHRONOS_WRITE_PROTO").is_some() {
            std::fs::write(&path, &written).unwrap();
        }
        let kept = std::fs::read(&path).unwrap_or_default();
        assert!(kept == written, "{name} is out of date: run `make proto`");
    }
}

/// Programs were promised exactly these.
#[test]
fn the_status_of_the_scheduler_is_told_in_the_promised_messages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    let contract = protox::compile([root.join("chronos/v1/chronos.proto")], [&root]).unwrap();
    let file = contract.file.iter().find(|file| file.package() == "chronos.v1").unwrap();
    let fields = |name: &str| -> Vec<(String, i32)> {
        let message = file.message_type.iter().find(|message| message.name() == name).unwrap();
        message.field.iter().map(|field| (field.name().to_owned(), field.number())).collect()
    };
    let named = |names: &[&str]| -> Vec<(String, i32)> {
        names.iter().map(|name| (*name).to_owned()).zip(1..).collect()
    };
    assert_eq!(
        fields("GetSchedulerStatusResponse"),
        named(&["scheduler_running", "jobs"]),
        "what the scheduler says of itself"
    );
    assert_eq!(
        fields("JobStatusProto"),
        named(&[
            "job_name",
            "cron_expr",
            "last_run",
            "last_duration_ms",
            "last_result",
            "next_run",
            "run_count",
            "error_count",
            "is_running",
            "is_paused",
        ]),
        "what it says of a job"
    );
}
