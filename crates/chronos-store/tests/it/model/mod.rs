//! Random histories: whatever verbs come in whatever order, the store answers like one that was opened
//! just now over the same records, and the invariants hold.

pub(crate) mod invariants;
mod verbs;
mod world;

use std::cell::Cell;
use std::fmt::Write as _;
use std::future::Future;
use std::panic;
use std::sync::Once;

use proptest::collection::vec;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::bench::Bench;
use verbs::Step;
use world::World;

/// Runs random histories on stores that `open` makes; closes and opens them again after every so many
/// steps.
pub(crate) fn check<F: Future<Output = Bench>>(
    histories: u32,
    restart_after: Option<usize>,
    open: impl Fn() -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        max_shrink_iters: 10_000,
        ..Config::with_cases(histories)
    });
    let outcome = quietly(|| {
        runner.run(&vec(verbs::step(), 1..60), |history| {
            runtime.block_on(live_through(open(), history, restart_after));
            Ok(())
        })
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Abort(reason)) => panic!("{reason}"),
        Err(TestError::Fail(reason, history)) => {
            let mut text = String::new();
            for step in history {
                writeln!(text, "{:>4} s later: {:?}", step.later, step.verb).unwrap();
            }
            panic!("this history breaks a promise:\n{text}{reason}");
        }
    }
}

async fn live_through(
    bench: impl Future<Output = Bench>,
    history: Vec<Step>,
    restart_after: Option<usize>,
) {
    let mut world = World::new(bench.await).await;
    for (step, number) in history.into_iter().zip(1_usize..) {
        world.perform(step).await;
        if restart_after.is_some_and(|steps| number.is_multiple_of(steps)) {
            world.restart().await;
        }
    }
    world.look_back();
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Shrinking a failure fails a thousand times on the way; only the last is worth reading.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
    QUIET.set(true);
    let done = work();
    QUIET.set(false);
    done
}
