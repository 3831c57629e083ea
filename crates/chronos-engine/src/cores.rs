//! Cores: has each worker of a runtime keep to a core of its own.
//!
//! A kernel may pack threads onto one core to let another rest, as those of some virtual machines do. Where
//! much is due in one second, half of it then waits although a core is free.

use std::io;

use tokio::runtime::Builder;

/// Has every worker of a runtime keep to a core of its own, and says whether it does so.
///
/// It does not where the process has only a share of its cores, as a container with a quota has: others
/// would keep to the same ones. Threads other than the workers go wherever there is room, except those that
/// a worker starts by itself: open a store before, or in
/// [`spawn_blocking`](tokio::task::spawn_blocking).
///
/// ```
/// let mut runtime = tokio::runtime::Builder::new_multi_thread();
/// chronos_engine::cores::keep_to_cores(&mut runtime)?;
/// let runtime = runtime.enable_all().build()?;
/// # runtime.block_on(async {});
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn keep_to_cores(runtime: &mut Builder) -> io::Result<bool> {
    imp::keep_to_cores(runtime)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::{io, thread};

    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use tokio::runtime::Builder;
    use tracing::warn;

    pub(super) fn keep_to_cores(runtime: &mut Builder) -> io::Result<bool> {
        let all = sched_getaffinity(None)?;
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).collect();
        if cores.len() < 2 || cores.len() != thread::available_parallelism()?.get() {
            return Ok(false);
        }
        let started = AtomicUsize::new(0);
        runtime.worker_threads(cores.len()).on_thread_start(move || {
            // The workers of a runtime start before any other thread of it.
            let own = cores.get(started.fetch_add(1, Ordering::SeqCst));
            // Whoever a worker starts would keep to the worker's core.
            let kept = own.map_or(all, |core| {
                let mut one = CpuSet::new();
                one.set(*core);
                one
            });
            if let Err(error) = sched_setaffinity(None, &kept) {
                warn!(%error, "A thread cannot keep to its core");
            }
        });
        Ok(true)
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    use tokio::runtime::Builder;

    pub(super) fn keep_to_cores(_: &mut Builder) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Barrier};

    use rustix::thread::{CpuSet, sched_getaffinity};

    use super::*;

    fn cores() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
    }

    #[test]
    fn workers_keep_to_a_core_each_and_other_threads_to_none() {
        let all = cores();
        let mut builder = Builder::new_multi_thread();
        if !keep_to_cores(&mut builder).unwrap() {
            return;
        }
        let runtime = builder.build().unwrap();
        // Each waits for all others, so that no worker runs two of them.
        let together = Arc::new(Barrier::new(all.len()));
        let asked: Vec<_> = (0..all.len())
            .map(|_| {
                let together = together.clone();
                runtime.spawn(async move {
                    together.wait();
                    cores()
                })
            })
            .collect();
        let own: BTreeSet<Vec<usize>> =
            asked.into_iter().map(|worker| runtime.block_on(worker).unwrap()).collect();
        assert_eq!(own, all.iter().map(|core| vec![*core]).collect());
        let from_a_worker = runtime.spawn(async { tokio::task::spawn_blocking(cores).await });
        assert_eq!(runtime.block_on(from_a_worker).unwrap().unwrap(), all);
    }
}
