//! What this process has used, as the kernel tells it.

use std::time::Instant;

use anyhow::Context;

/// Bytes of memory in use.
pub(crate) fn resident_bytes() -> anyhow::Result<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = statm.split_whitespace().nth(1).context("no resident size")?.parse()?;
    Ok(pages * 4_096.0)
}

/// Seconds of CPU used, by all threads.
pub(crate) fn cpu_seconds() -> anyhow::Result<f64> {
    let mut nanos = 0.0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let path = task?.path().join("schedstat");
        // A thread may end between the listing and the look.
        let Ok(schedstat) = std::fs::read_to_string(path) else {
            continue;
        };
        let used = schedstat.split_whitespace().next().and_then(|used| used.parse::<f64>().ok());
        nanos += used.unwrap_or(0.0);
    }
    Ok(nanos / 1e9)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn begin() -> Instant {
    Instant::now()
}
