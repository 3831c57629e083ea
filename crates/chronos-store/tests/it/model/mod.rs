//! Random histories: whatever verbs come in whatever order, the store answers like one that was opened
//! just now over the same records, and the invariants hold.

mod invariants;
mod verbs;
mod world;

use std::future::Future;

use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};

use crate::bench::Bench;
use verbs::Step;
use world::World;

/// Runs random histories on stores that `open` makes.
pub(crate) fn check<F: Future<Output = Bench>>(open: impl Fn() -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(96)
    });
    let outcome = runner.run(&vec(verbs::step(), 1..60), |history| {
        runtime.block_on(live_through(open(), history));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

async fn live_through(bench: impl Future<Output = Bench>, history: Vec<Step>) {
    let mut world = World::new(bench.await).await;
    for step in history {
        world.perform(step).await;
    }
    world.look_back();
}
