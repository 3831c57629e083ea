//! Measures Chronos against its ceilings and a peer, in one run, each scenario in a process of its
//! own so that memory and CPU are that scenario's alone.

mod cluster;
mod core;
mod dashboard;
mod disk;
mod fleet;
mod live;
mod peer;
mod process;
mod report;
mod search;
mod store;
mod toc;
mod web;
mod workload;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use report::Report;

/// What the daemon has, for ours and for the peers alike.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What can be measured, in the order it is.
const SCENARIOS: [&str; 26] = [
    "core",
    "store",
    "registration",
    "herd",
    "peer-herd",
    "throughput",
    "million",
    "history",
    "history-projector",
    "history-rollup",
    "history-search",
    "backlog",
    "messages",
    "requests",
    "api",
    "streams",
    "dashboard",
    "cluster",
    "cluster-peers",
    "cluster-latency",
    "cluster-nodes",
    "cluster-snapshot",
    "cluster-history",
    "cluster-schedules",
    "cluster-backlog",
    "cluster-messages",
];

fn main() -> anyhow::Result<ExitCode> {
    let scenario = std::env::args().nth(1);
    match scenario.as_deref() {
        None => run_all(),
        Some(name) => {
            let figures = run_one(name)?;
            report::emit(&figures);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn run_one(name: &str) -> anyhow::Result<Vec<report::Figure>> {
    match name {
        "core" => core::measure(),
        "store" => runtime()?.block_on(store::measure()),
        "registration" => runtime()?.block_on(fleet::registration()),
        "herd" => runtime()?.block_on(fleet::herd()),
        "peer-herd" => runtime()?.block_on(peer::herd()),
        "throughput" => runtime()?.block_on(disk::throughput()),
        "million" => disk::million(),
        "million-load" => runtime()?.block_on(disk::million_load(Path::new(&place()?))),
        "million-run" => runtime()?.block_on(disk::million_run(Path::new(&place()?))),
        "history" => runtime()?.block_on(disk::history()),
        "history-projector" => runtime()?.block_on(toc::projector()),
        "history-rollup" => runtime()?.block_on(toc::rollup()),
        "history-search" => search::measure(),
        "backlog" => runtime()?.block_on(disk::backlog()),
        "messages" => runtime()?.block_on(disk::messages()),
        "requests" => runtime()?.block_on(web::outgoing()),
        "api" => runtime()?.block_on(web::api()),
        "streams" => runtime()?.block_on(web::streams()),
        "dashboard" => dashboard::measure(),
        "cluster" => runtime()?.block_on(cluster::measure()),
        "cluster-peers" => runtime()?.block_on(cluster::peers()),
        "cluster-latency" => runtime()?.block_on(cluster::latency()),
        "cluster-nodes" => runtime()?.block_on(cluster::nodes()),
        "cluster-snapshot" => runtime()?.block_on(cluster::snapshot()),
        "cluster-history" => runtime()?.block_on(cluster::history()),
        "cluster-schedules" => runtime()?.block_on(cluster::schedules()),
        "cluster-backlog" => runtime()?.block_on(cluster::backlog()),
        "cluster-messages" => runtime()?.block_on(cluster::messages()),
        other => bail!("unknown scenario \"{other}\"; there are {}", SCENARIOS.join(", ")),
    }
}

/// The directory that a part of a scenario is given.
fn place() -> anyhow::Result<std::ffi::OsString> {
    std::env::args_os().nth(2).context("a part of a scenario needs a directory")
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // A kernel that packs threads onto one core would be measured instead, for us and for the peers alike.
    chronos_engine::cores::keep_to_cores(&mut runtime)?;
    Ok(runtime.enable_all().build()?)
}

fn run_all() -> anyhow::Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut report = Report::default();
    let mut failed = Vec::new();
    for scenario in SCENARIOS {
        eprintln!("measuring {scenario} …");
        let output = Command::new(&program).arg(scenario).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            // The others have something to say all the same.
            eprintln!("{scenario} failed");
            failed.push(scenario);
            continue;
        }
        report.add(report::read(&String::from_utf8_lossy(&output.stdout))?);
    }
    report.compare_with_peer();
    let met = report.print();
    if !failed.is_empty() {
        eprintln!("not measured: {}", failed.join(", "));
    }
    Ok(if met && failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
