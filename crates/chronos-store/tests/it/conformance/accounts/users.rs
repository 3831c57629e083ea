//! Users: the first is an admin, one admin always stays, and a name is one user's.

use chronos_core::account::{Admit, Error, NewUser, PasswordHash, Role, User, UserChange};
use chronos_core::{KeyId, UserId};

use super::{Desk, bytes, key, name, new, session};
use crate::bench::at;

pub(crate) async fn the_first_user_is_an_admin_and_no_other_unasked(desk: &mut Desk) {
    assert_eq!(desk.has_users().await, Ok(false));
    let ada = desk.create("ada", Role::User).await;
    assert_eq!((ada.role, ada.generation, ada.disabled), (Role::Admin, 1, false));
    assert_eq!((ada.created_at, ada.changed_at), (at(0), at(0)));
    assert_eq!(desk.create("bob", Role::User).await.role, Role::User);
    assert_eq!(desk.create("cyd", Role::Viewer).await.role, Role::Viewer);
    desk.reopen().await;
    assert_eq!(desk.has_users().await, Ok(true));
    assert_eq!(desk.user(ada.id).await, Ok(ada));
    let late = desk.create_user(new("dan", Role::User), Admit::First, at(1).into()).await;
    assert_eq!(late, Err(Error::NotFirst));
    assert_eq!(desk.names().await, ["ada", "bob", "cyd"]);
}

pub(crate) async fn of_many_first_users_at_once_there_is_one(desk: &mut Desk) {
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let accounts = desk.accounts.clone().unwrap();
            let new = new(&format!("user{number}"), Role::User);
            tokio::spawn(async move { accounts.create_user(new, Admit::First, at(0).into()).await })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(user) => {
                assert_eq!(user.role, Role::Admin);
                made += 1;
            }
            Err(error) => assert_eq!(error, Error::NotFirst),
        }
    }
    assert_eq!((made, desk.names().await.len()), (1, 1));
}

pub(crate) async fn a_name_is_one_users_in_all_its_spellings(desk: &mut Desk) {
    let zoe = desk.create("zoë", Role::User).await;
    for spelling in ["zoë", "ZOË", "zoe\u{308}"] {
        let twin = NewUser { id: UserId::from_bytes([9; 16]), ..new(spelling, Role::User) };
        let taken = desk.create_user(twin, Admit::Anytime, at(1).into()).await;
        assert_eq!(taken, Err(Error::NameTaken(name(spelling))));
        assert_eq!(desk.user_named(&name(spelling)).await, Ok(Some(zoe.clone())));
    }
    assert_eq!(desk.user_named(&name("zoe")).await, Ok(None));
}

pub(crate) async fn users_page_in_the_order_of_their_ids(desk: &mut Desk) {
    for user in ["c", "a", "e", "b", "d"] {
        desk.create(user, Role::User).await;
    }
    let mut after = None;
    let mut seen = String::new();
    loop {
        let page = desk.users(after, 2).await.unwrap();
        seen.extend(page.iter().map(|user| user.name.as_str()));
        match page.last() {
            Some(last) => after = Some(last.id),
            None => break,
        }
        seen.push(' ');
    }
    assert_eq!(seen, "ab cd e ");
    assert_eq!(desk.users(None, 0).await, Ok(Vec::new()));
}

pub(crate) async fn a_change_keeps_what_it_does_not_name(desk: &mut Desk) {
    let (_, bob) = desk.two().await;
    let role = UserChange { role: Some(Role::Viewer), ..UserChange::default() };
    let viewer = desk.change_user(bob.id, role, at(5).into()).await.unwrap();
    let expected = User { role: Role::Viewer, changed_at: at(5), ..bob.clone() };
    assert_eq!(viewer, expected, "a role ends nothing, because it is read anew at each request");
    let hashed = UserChange { rehashed: Some(PasswordHash::new("r")), ..UserChange::default() };
    let hashed = desk.change_user(bob.id, hashed, at(6).into()).await.unwrap();
    assert_eq!((hashed.password.expose(), hashed.generation), ("r", 1));
    let again = desk.change_user(bob.id, UserChange::default(), at(7).into()).await.unwrap();
    assert_eq!(again, hashed, "nothing was asked for");
    desk.reopen().await;
    assert_eq!(desk.user(bob.id).await, Ok(hashed));
    let ghost = UserId::from_bytes(bytes("ghost"));
    let unknown = desk.change_user(ghost, UserChange::default(), at(8).into()).await;
    assert_eq!(unknown, Err(Error::NoSuchUser(ghost)));
    assert_eq!(desk.user(ghost).await, Err(Error::NoSuchUser(ghost)));
}

pub(crate) async fn a_new_password_and_a_ban_end_what_was_handed_out(desk: &mut Desk) {
    let (_, bob) = desk.two().await;
    let password = UserChange { password: Some(PasswordHash::new("p")), ..UserChange::default() };
    let disable = |disabled| UserChange { disabled: Some(disabled), ..UserChange::default() };
    for (change, generation) in [(password, 2), (disable(true), 3), (disable(false), 4)] {
        let enabled = !desk.user(bob.id).await.unwrap().disabled;
        if enabled {
            desk.open_session(session(bob.id, 1, 1), at(1).into()).await.unwrap();
        }
        let changed = desk.change_user(bob.id, change, at(2).into()).await.unwrap();
        assert_eq!(changed.generation, generation);
        assert!(!desk.goes_on(bob.id, 1, 3).await);
    }
    let same = desk.change_user(bob.id, disable(false), at(4).into()).await.unwrap();
    assert_eq!(same.generation, 4, "it was so before");
}

pub(crate) async fn the_last_admin_stays(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    let demote = UserChange { role: Some(Role::User), ..UserChange::default() };
    let disable = UserChange { disabled: Some(true), ..UserChange::default() };
    let promote = UserChange { role: Some(Role::Admin), ..UserChange::default() };
    for change in [&demote, &disable] {
        let refused = desk.change_user(ada.id, change.clone(), at(1).into()).await;
        assert_eq!(refused, Err(Error::LastAdmin));
    }
    assert_eq!(desk.delete_user(ada.id, at(1).into()).await, Err(Error::LastAdmin));
    assert_eq!(desk.user(ada.id).await, Ok(ada.clone()), "what is refused changes nothing");
    desk.change_user(bob.id, promote, at(2).into()).await.unwrap();
    desk.change_user(bob.id, disable.clone(), at(3).into()).await.unwrap();
    let refused = desk.delete_user(ada.id, at(4).into()).await;
    assert_eq!(refused, Err(Error::LastAdmin), "one who is disabled does not count");
    let enable = UserChange { disabled: Some(false), ..UserChange::default() };
    desk.change_user(bob.id, enable, at(5).into()).await.unwrap();
    let both = [ada.id, bob.id].map(|user| {
        let (accounts, demote) = (desk.accounts.clone().unwrap(), demote.clone());
        tokio::spawn(async move { accounts.change_user(user, demote, at(6).into()).await.is_ok() })
    });
    let mut done = 0;
    for one in both {
        done += usize::from(one.await.unwrap());
    }
    assert_eq!(done, 1, "of two who step down at once, one stays");
}

pub(crate) async fn a_deleted_user_leaves_nothing_to_get_in_with(desk: &mut Desk) {
    let (_, bob) = desk.two().await;
    desk.open_session(session(bob.id, 1, 1), at(1).into()).await.unwrap();
    desk.create_key(key(bob.id, 2), at(1).into()).await.unwrap();
    desk.delete_user(bob.id, at(2).into()).await.unwrap();
    desk.reopen().await;
    assert_eq!(desk.names().await, ["ada"]);
    assert!(!desk.goes_on(bob.id, 1, 3).await);
    assert!(desk.key(KeyId::from_bytes([2; 16])).await.unwrap().is_none());
    assert_eq!(desk.delete_user(bob.id, at(3).into()).await, Err(Error::NoSuchUser(bob.id)));
    let opened = desk.open_session(session(bob.id, 1, 1), at(3).into()).await;
    assert_eq!(opened, Err(Error::NoSuchUser(bob.id)));
    let made = desk.create_key(key(bob.id, 3), at(3).into()).await;
    assert_eq!(made, Err(Error::NoSuchUser(bob.id)));
    let heir = NewUser { id: UserId::from_bytes([9; 16]), ..new("bob", Role::User) };
    let heir = desk.create_user(heir, Admit::Anytime, at(4).into()).await.unwrap();
    assert!(desk.keys_of(heir.id).await.unwrap().is_empty());
}
