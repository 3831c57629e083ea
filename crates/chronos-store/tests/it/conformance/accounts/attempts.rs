//! Attempts: counted by every subject, up to a limit in each window.

use std::time::Duration;

use chronos_core::account::{Attempt, Subject};

use super::{Desk, bytes};
use crate::bench::at;

fn subject(name: &str, limit: u32) -> Subject {
    Subject { id: bytes(name), limit, window: Duration::from_mins(1) }
}

pub(crate) async fn attempts_are_let_through_up_to_a_limit_in_each_window(desk: &mut Desk) {
    let (name, address) = (subject("ada", 2), subject("::1", 3));
    for second in [0, 1] {
        assert_eq!(desk.attempt(&[name, address], at(second)).await, Ok(Attempt::Let));
    }
    desk.reopen().await;
    for _ in 0..3 {
        let refused = desk.attempt(&[name, address], at(2)).await;
        assert_eq!(refused, Ok(Attempt::Until(at(60))), "the window began with the minute");
    }
    // What was refused was not counted by the address either.
    let other = subject("bob", 2);
    assert_eq!(desk.attempt(&[other, address], at(3)).await, Ok(Attempt::Let));
    assert_eq!(desk.attempt(&[other, address], at(4)).await, Ok(Attempt::Until(at(60))));
    assert_eq!(desk.attempt(&[name, address], at(60)).await, Ok(Attempt::Let));
}

pub(crate) async fn attempts_at_once_are_all_counted(desk: &mut Desk) {
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let accounts = desk.accounts.clone().unwrap();
            tokio::spawn(async move { accounts.attempt(&[subject("ada", 5)], at(0)).await })
        })
        .collect();
    let mut let_through = 0;
    for task in tasks {
        let_through += usize::from(task.await.unwrap() == Ok(Attempt::Let));
    }
    assert_eq!(let_through, 5);
}

pub(crate) async fn attempts_are_forgotten_when_asked(desk: &mut Desk) {
    let (name, other) = (subject("ada", 1), subject("bob", 1));
    desk.attempt(&[name, other], at(0)).await.unwrap();
    desk.forget_attempts(&[name], at(1)).await.unwrap();
    assert_eq!(desk.attempt(&[name], at(2)).await, Ok(Attempt::Let));
    assert_eq!(desk.attempt(&[other], at(2)).await, Ok(Attempt::Until(at(60))));
}
