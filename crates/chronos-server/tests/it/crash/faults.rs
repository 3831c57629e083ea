//! Faults of the machine: each has a clear outcome, and nothing that was acknowledged is lost.

use std::fs::{self, File};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_server::proto::target::Kind;
use chronos_server::proto::{CreateJobRequest, GetJobRequest, JobSpec};
use tokio::net::TcpStream;
use tonic::{Code, Status};

use super::endpoint::Endpoint;
use super::specs::{Rhythm, spec};
use crate::daemon::house::{client, get};
use crate::daemon::soon;
use crate::mount::{Mount, may_mount};
use crate::serving::{Serving, serve};
use crate::texts;

/// How often a test looks for what it waits for.
const LOOK: Duration = Duration::from_millis(50);

/// A job that waits for a day far away.
fn idle(name: &str, url: &str) -> JobSpec {
    spec(name, 0, Rhythm::Once(Timestamp::from_secs(4_000_000_000)), 1, url)
}

async fn create(daemon: SocketAddr, spec: JobSpec) -> Result<(), Status> {
    let request = CreateJobRequest { spec: Some(spec) };
    soon(client(daemon).await.create_job(request)).await.map(drop)
}

async fn is_there(daemon: SocketAddr, job: &str) -> bool {
    let found = soon(client(daemon).await.get_job(GetJobRequest { job: job.into() })).await;
    match found {
        Ok(_) => true,
        Err(absent) if absent.code() == Code::NotFound => false,
        Err(failed) => panic!("{job}: {failed}"),
    }
}

/// The answer of `/readyz`, once it has this code.
async fn ready_when(daemon: SocketAddr, code: u16) -> String {
    soon(async {
        loop {
            let (found, body) = get(daemon, "/readyz").await;
            if found == code {
                return body;
            }
            tokio::time::sleep(LOOK).await;
        }
    })
    .await
}

/// The one line with which a daemon refuses to serve this directory.
fn refused(data: &Path) -> String {
    let output = serve(data, &[]).output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout.as_str()), (Some(1), ""), "{stderr}");
    let told = stderr.lines().last().unwrap_or_default();
    assert!(told.starts_with("error: data_dir: "), "{stderr}");
    assert!(told.contains(data.to_str().unwrap()), "{stderr}");
    told.to_owned()
}

#[tokio::test]
async fn a_second_daemon_on_a_directory_is_refused_and_the_first_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (mut first, address) = Serving::over(&data, &[]).await;
    create(address, idle("before", "http://127.0.0.1:9/")).await.unwrap();
    let told = refused(&data);
    assert!(told.contains(&format!("is in use by process {}", first.id())), "{told}");
    create(address, idle("after", "http://127.0.0.1:9/")).await.unwrap();
    assert!(is_there(address, "before").await);
    first.stop().await;
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_is_refused_and_left_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    create(address, idle("kept", "http://127.0.0.1:9/")).await.unwrap();
    daemon.stop().await;
    let marker = fs::read_to_string(data.join("store")).unwrap();
    for (from, to, expected) in [
        ("format 8", "format 9", "has format 9, this program reads format 8"),
        ("engine fjall", "engine rocksdb", "was written by the rocksdb engine"),
        ("state ready", "state steady", "is damaged"),
    ] {
        let (body, _) = marker.rsplit_once("check ").unwrap();
        let body = body.replace(from, to);
        let check = crc32fast::hash(body.as_bytes());
        fs::write(data.join("store"), format!("{body}check {check:08x}\n")).unwrap();
        let told = refused(&data);
        assert!(told.contains(expected), "{told}");
    }
    fs::write(data.join("store"), marker).unwrap();
    let (_daemon, address) = Serving::over(&data, &[]).await;
    assert!(is_there(address, "kept").await);
}

#[tokio::test]
async fn a_read_only_directory_is_refused() {
    if !may_mount("crash::faults::a_read_only_directory_is_refused") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mount = Mount::new(directory.path(), "size=64m,mode=700");
    let (mut daemon, address) = Serving::over(directory.path(), &[]).await;
    create(address, idle("kept", "http://127.0.0.1:9/")).await.unwrap();
    daemon.stop().await;
    mount.change("ro");
    let told = refused(directory.path());
    assert!(told.contains("cannot be written to"), "{told}");
    mount.change("rw");
    let (mut daemon, address) = Serving::over(directory.path(), &[]).await;
    assert!(is_there(address, "kept").await);
    daemon.stop().await;
}

/// A job whose body takes much space.
fn large(number: usize) -> JobSpec {
    let mut spec = idle(&format!("job {number}"), "http://127.0.0.1:9/");
    let mut dice = fastrand::Rng::with_seed(number as u64);
    if let Some(Kind::Http(http)) = spec.target.as_mut().and_then(|target| target.kind.as_mut()) {
        http.body = std::iter::repeat_with(|| dice.alphanumeric() as u8).take(16_000).collect();
    }
    spec
}

/// Creates jobs until one is refused.
async fn create_until_refused(
    daemon: SocketAddr,
    from: usize,
    acknowledged: &mut Vec<usize>,
) -> Status {
    for number in from..from + 10_000 {
        match create(daemon, large(number)).await {
            Ok(()) => acknowledged.push(number),
            Err(refused) => return refused,
        }
    }
    panic!("nothing was refused");
}

/// Writes a file until there is no more space.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    for size in [1 << 16, 1 << 10, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

#[tokio::test]
async fn a_full_disk_refuses_changes_keeps_reads_and_is_left_behind_by_itself() {
    let test =
        "crash::faults::a_full_disk_refuses_changes_keeps_reads_and_is_left_behind_by_itself";
    if !may_mount(test) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let _mount = Mount::new(directory.path(), "size=96m,mode=700");
    let (data, ballast) = (directory.path().join("data"), directory.path().join("ballast"));
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    let endpoint = Endpoint::open().await;
    create(address, spec("busy", 6, Rhythm::Every(1), 1, &endpoint.url("ok"))).await.unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..2 {
        fill(&ballast);
        let refused = create_until_refused(address, round * 100_000, &mut acknowledged).await;
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        let told = ready_when(address, 503).await;
        assert!(told.contains("space"), "{told}");
        assert_eq!(get(address, "/healthz").await.0, 200);
        for number in &acknowledged {
            assert!(is_there(address, &format!("job {number}")).await);
        }
        fs::remove_file(&ballast).unwrap();
        // Nobody has to ask twice, or to start it again.
        ready_when(address, 200).await;
        let number = round * 100_000 + 50_000;
        create(address, large(number)).await.unwrap();
        acknowledged.push(number);
        let calls = endpoint.calls().len();
        soon(async {
            while endpoint.calls().len() == calls {
                tokio::time::sleep(LOOK).await;
            }
        })
        .await;
    }
    daemon.kill();
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    for number in acknowledged {
        assert!(is_there(address, &format!("job {number}")).await, "job {number} is lost");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn without_file_descriptors_a_daemon_waits_and_then_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let served = serve(&data, &[]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64 && exec \"$@\"", "sh"]).arg(served.get_program());
    limited.args(served.get_args()).env_clear().env("TZ", "UTC");
    let mut daemon = Serving::spawn(&mut limited);
    let address = daemon.listening().await;
    let endpoint = Endpoint::open().await;
    create(address, spec("busy", 6, Rhythm::Every(1), 1, &endpoint.url("ok"))).await.unwrap();
    // One that is open already serves on.
    let mut early = client(address).await;
    let mut connections = Vec::new();
    for _ in 0..100 {
        connections.push(soon(TcpStream::connect(address)).await.unwrap());
    }
    daemon.line("Connection not accepted").await;
    // So much that the store needs new files, and cannot have them.
    let mut acknowledged = Vec::new();
    for number in 0..1_500 {
        let request = CreateJobRequest { spec: Some(large(number)) };
        match soon(early.create_job(request)).await {
            Ok(_) => acknowledged.push(number),
            Err(refused) => assert_eq!(refused.code(), Code::Unavailable, "{refused}"),
        }
    }
    assert!(acknowledged.len() < 1_500, "the store needed no new files");
    assert!(daemon.lives());
    drop(connections);
    ready_when(address, 200).await;
    create(address, idle("after", "http://127.0.0.1:9/")).await.unwrap();
    let calls = endpoint.calls().len();
    soon(async {
        while endpoint.calls().len() < calls + 3 {
            tokio::time::sleep(LOOK).await;
        }
    })
    .await;
    daemon.kill();
    let (mut daemon, address) = Serving::over(&data, &[]).await;
    for number in acknowledged {
        assert!(is_there(address, &format!("job {number}")).await, "job {number} is lost");
    }
    daemon.stop().await;
}
