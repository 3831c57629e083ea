//! Laws: whatever happens to a job, in whatever order, every slot is accounted for exactly once.

mod checks;
mod oracle;
mod setup;
mod world;

use proptest::prelude::*;

use setup::{Setup, Verb, any_setup, any_verb};
use world::World;

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_accounts_for_every_slot_exactly_once(
        setup in any_setup(), verbs in prop::collection::vec(any_verb(), 1..60),
    ) {
        run(&setup, verbs);
    }
}

/// The world checks the laws after every verb; at the end everything due is settled once more.
fn run(setup: &Setup, verbs: Vec<Verb>) {
    let mut world = World::new(setup);
    for verb in verbs {
        world.turn(verb);
    }
    world.turn(Verb::Resume);
    world.turn(Verb::Plan);
}
