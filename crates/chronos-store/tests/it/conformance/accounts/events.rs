//! Events: what changes an account is told in the same step, and what is refused changes nothing.

use chronos_core::account::{Act, Admit, Error, PasswordHash, Role, UserChange, What};
use chronos_core::{KeyId, UserId};

use super::{Desk, key, new};
use crate::bench::at;

fn act(second: i64, by: Option<UserId>) -> Act {
    Act { at: at(second), by, from: Some("192.0.2.7".parse().unwrap()) }
}

/// What was done, oldest first, with its sequence and the name of whom it is about.
async fn told(desk: &Desk) -> Vec<(u64, Option<String>, What)> {
    let mut events = desk.account_events(None, 1_000).await.unwrap();
    events.reverse();
    let told = |event: chronos_core::account::Event| {
        (event.sequence, event.user.map(|(_, name)| name.to_string()), event.what)
    };
    events.into_iter().map(told).collect()
}

pub(crate) async fn every_change_is_told_once_with_who_did_it(desk: &mut Desk) {
    let ada = desk.create_user(new("ada", Role::User), Admit::First, act(1, None)).await.unwrap();
    let by_ada = |second| act(second, Some(ada.id));
    let bob = desk.create_user(new("bob", Role::User), Admit::Anytime, by_ada(2)).await.unwrap();
    let change = UserChange {
        role: Some(Role::Viewer),
        disabled: Some(true),
        password: Some(PasswordHash::new("new")),
        rehashed: None,
    };
    desk.change_user(bob.id, change, by_ada(3)).await.unwrap();
    let enable = UserChange { disabled: Some(false), ..UserChange::default() };
    desk.change_user(bob.id, enable, by_ada(4)).await.unwrap();
    let rehashed = Some(PasswordHash::new("the same"));
    let rehash = UserChange { rehashed, ..UserChange::default() };
    desk.change_user(bob.id, rehash, by_ada(5)).await.unwrap();
    let made = key(bob.id, 7);
    desk.create_key(made.clone(), act(6, Some(bob.id))).await.unwrap();
    desk.revoke_key(bob.id, made.id, act(7, Some(bob.id))).await.unwrap();
    desk.refuse_login(Some(bob.id), act(8, None)).await.unwrap();
    desk.refuse_login(None, act(9, None)).await.unwrap();
    desk.delete_user(bob.id, by_ada(10)).await.unwrap();
    let (ada_s, bob_s) = (Some("ada".to_owned()), Some("bob".to_owned()));
    let expected = [
        (1, ada_s, What::UserCreated { role: Role::Admin }),
        (2, bob_s.clone(), What::UserCreated { role: Role::User }),
        (3, bob_s.clone(), What::RoleChanged { from: Role::User, to: Role::Viewer }),
        (4, bob_s.clone(), What::UserDisabled),
        (5, bob_s.clone(), What::PasswordChanged),
        (6, bob_s.clone(), What::UserEnabled),
        (7, bob_s.clone(), What::KeyCreated { key: made.id }),
        (8, bob_s.clone(), What::KeyRevoked { key: made.id }),
        (9, bob_s.clone(), What::LoginRefused),
        (10, None, What::LoginRefused),
        (11, bob_s, What::UserDeleted),
    ];
    assert_eq!(told(desk).await, expected);
    desk.reopen().await;
    assert_eq!(told(desk).await, expected, "they are kept");
    let newest = desk.account_events(None, 2).await.unwrap();
    assert_eq!(newest.iter().map(|event| event.sequence).collect::<Vec<_>>(), [11, 10]);
    assert_eq!((newest[0].act, newest[1].act), (by_ada(10), act(9, None)));
    let next = desk.account_events(Some(10), 2).await.unwrap();
    assert_eq!(next.iter().map(|event| event.sequence).collect::<Vec<_>>(), [9, 8]);
    assert_eq!(next[1].user.as_ref().unwrap().0, bob.id);
    assert!(desk.account_events(Some(1), 2).await.unwrap().is_empty());
    assert!(desk.account_events(None, 0).await.unwrap().is_empty());
}

pub(crate) async fn what_is_refused_is_not_told(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    let before = told(desk).await;
    let demote = UserChange { role: Some(Role::User), ..UserChange::default() };
    assert_eq!(desk.change_user(ada.id, demote, act(2, None)).await, Err(Error::LastAdmin));
    assert_eq!(desk.delete_user(ada.id, act(2, None)).await, Err(Error::LastAdmin));
    let ghost = KeyId::from_bytes([9; 16]);
    assert_eq!(desk.revoke_key(bob.id, ghost, act(2, None)).await, Err(Error::NoSuchKey(ghost)));
    let twin = desk.create_user(new("bob", Role::Admin), Admit::Anytime, act(2, None)).await;
    assert!(matches!(twin, Err(Error::NameTaken(_))), "{twin:?}");
    assert_eq!(told(desk).await, before);
}
