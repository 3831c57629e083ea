//! The differential test: random jobs are lived through by a store and by a slow and obvious reference, which
//! must agree about every firing, every skip, every decision and every message.
//!
//! A history is made from a number. One that fails is made smaller and printed, with the number that replays it:
//! `CHRONOS_DIFFERENTIAL_SEED=17 cargo test -p chronos-store --test it differential`. For a night's work,
//! `CHRONOS_DIFFERENTIAL_HISTORIES=100000`.

mod changing;
#[expect(
    dead_code,
    reason = "what makes expressions is shared with those who look at nothing else"
)]
#[path = "../../../../chronos-core/tests/it/cron_oracle.rs"]
mod cron_oracle;
mod reference;
mod setup;
mod slots;
mod world;

use std::future::Future;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::bench::Bench;
use crate::model::quietly;
use world::World;

/// Runs random histories on one engine.
macro_rules! differential {
    ($engine:ident, $open:path, $histories:expr) => {
        mod $engine {
            #[test]
            fn a_store_and_the_reference_agree_about_every_slot() {
                let open = || async { $crate::bench::Bench::new($open().await).await };
                $crate::differential::check($histories, open);
            }
        }
    };
}
pub(crate) use differential;

/// Lives through so many histories on stores that `open` makes.
pub(crate) fn check<F: Future<Output = Bench>>(histories: u64, open: impl Fn() -> F) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let seeds = match number("CHRONOS_DIFFERENTIAL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("CHRONOS_DIFFERENTIAL_HISTORIES").unwrap_or(histories),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for seed in seeds {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let chance = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let config = Config {
            failure_persistence: None,
            max_shrink_iters: 2_000,
            max_local_rejects: 1_000_000,
            ..Config::with_cases(1)
        };
        let outcome = quietly(|| {
            TestRunner::new_with_rng(config, chance).run(&setup::history(), |history| {
                runtime.block_on(async { World::new(open().await, &history).await.live().await });
                Ok(())
            })
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Abort(reason)) => panic!("seed {seed}: {reason}"),
            Err(TestError::Fail(reason, history)) => panic!(
                "seed {seed} (replay it with CHRONOS_DIFFERENTIAL_SEED={seed}), made smaller:\n\
                 {history:#?}\n{reason}"
            ),
        }
    }
}
