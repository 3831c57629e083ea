//! What the database server has used, as the kernel and the server itself tell it.

use std::fs;

use anyhow::Context;
use chronos_pgtest::Cluster;

/// Seconds of CPU that the cluster's processes have used. Those of sessions that ended count with the
/// process that started them.
pub(super) fn cpu_seconds(cluster: &Cluster) -> anyhow::Result<f64> {
    let pid = fs::read_to_string(cluster.directory().join("data/postmaster.pid"))?;
    let postmaster: u32 = pid.lines().next().context("no process id")?.parse()?;
    let processes = fs::read_dir("/proc")?.flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    let used = pids.filter_map(used_by);
    Ok(used
        .filter(|used| used.parent == postmaster || used.pid == postmaster)
        .map(|used| used.seconds)
        .sum())
}

struct Used {
    pid: u32,
    parent: u32,
    seconds: f64,
}

/// What a process has used, if it is still there.
fn used_by(pid: u32) -> Option<Used> {
    /// The kernel counts in hundredths of a second, whatever its own clock.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let mut ticks: f64 = 0.0;
    // Of itself by users' and by the kernel's work, and of its children that are gone.
    for field in fields.get(11..15)? {
        ticks += field.parse::<f64>().ok()?;
    }
    Some(Used { pid, parent: fields.get(1)?.parse().ok()?, seconds: ticks / TICKS })
}

/// Transactions that the database has ended so far.
pub(super) fn transactions(cluster: &Cluster) -> anyhow::Result<f64> {
    // A session tells of its transactions when it has been quiet for a moment.
    let query = format!(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{}'",
        super::DATABASE
    );
    Ok(cluster.psql(super::DATABASE, &query).parse()?)
}
