//! Accounts: who may ask for what, remembered by every store alike.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::account::{
    Accounts, Admit, ApiKey, Attempt, Digest, Error, MAX_SESSIONS, NewUser, PasswordHash, Role,
    Scopes, Session, Subject, User, UserChange, UserName,
};
use chronos_core::{KeyId, SessionId, Timestamp, UserId};

use crate::bench::at;

/// An empty place where a store keeps accounts.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    /// Opens the store; the one opened before is closed by then.
    async fn accounts(&self) -> Arc<dyn Accounts>;
}

/// A store of accounts, and the ability to close and open it again.
pub(crate) struct Desk {
    place: Box<dyn Place>,
    accounts: Option<Arc<dyn Accounts>>,
}

impl Deref for Desk {
    type Target = dyn Accounts;

    fn deref(&self) -> &Self::Target {
        self.accounts.as_deref().unwrap()
    }
}

impl Desk {
    pub(crate) async fn new(place: impl Place + 'static) -> Self {
        let accounts = Some(place.accounts().await);
        Self { place: Box::new(place), accounts }
    }

    async fn reopen(&mut self) {
        self.accounts = None;
        self.accounts = Some(self.place.accounts().await);
    }

    async fn create(&self, user: &str, role: Role) -> User {
        self.create_user(new(user, role), Admit::Anytime, at(0)).await.unwrap()
    }

    /// Makes an admin and another user.
    async fn two(&self) -> (User, User) {
        (self.create("ada", Role::Admin).await, self.create("bob", Role::User).await)
    }

    async fn names(&self) -> Vec<String> {
        let users = self.users(None, 100).await.unwrap();
        users.iter().map(|user| user.name.to_string()).collect()
    }

    /// Whether the session of this number goes on.
    async fn goes_on(&self, user: UserId, number: u8, second: i64) -> bool {
        let found = self.user_of_session(user, session_id(number), at(second)).await.unwrap();
        assert!(found.as_ref().is_none_or(|found| found.id == user));
        found.is_some()
    }
}

fn bytes(text: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    bytes
}

fn name(text: &str) -> UserName {
    UserName::parse(text).unwrap()
}

fn new(user: &str, role: Role) -> NewUser {
    let (id, password) = (UserId::from_bytes(bytes(user)), PasswordHash::new(user));
    NewUser { id, name: name(user), role, password }
}

fn session_id(number: u8) -> SessionId {
    SessionId::from_bytes([number; 16])
}

fn session(user: UserId, number: u8, second: i64) -> Session {
    let (opened_at, expires_at) = (at(second), at(1_000));
    let (id, digest) = (session_id(number), Digest::new([number; 32]));
    Session { id, user, digest, opened_at, expires_at }
}

fn key(user: UserId, number: u8) -> ApiKey {
    ApiKey {
        id: KeyId::from_bytes([number; 16]),
        user,
        name: "ci".into(),
        digest: Digest::new([number; 32]),
        scopes: Scopes { read: true, ..Scopes::default() },
        created_at: at(0),
        expires_at: Some(at(50)),
        last_used_at: None,
    }
}

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
    let late = desk.create_user(new("dan", Role::User), Admit::First, at(1)).await;
    assert_eq!(late, Err(Error::NotFirst));
    assert_eq!(desk.names().await, ["ada", "bob", "cyd"]);
}

pub(crate) async fn of_many_first_users_at_once_there_is_one(desk: &mut Desk) {
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            let accounts = desk.accounts.clone().unwrap();
            let new = new(&format!("user{number}"), Role::User);
            tokio::spawn(async move { accounts.create_user(new, Admit::First, at(0)).await })
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
        let taken = desk.create_user(twin, Admit::Anytime, at(1)).await;
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
    let viewer = desk.change_user(bob.id, role, at(5)).await.unwrap();
    let expected = User { role: Role::Viewer, changed_at: at(5), ..bob.clone() };
    assert_eq!(viewer, expected, "a role ends nothing, because it is read anew at each request");
    let hashed = UserChange { rehashed: Some(PasswordHash::new("r")), ..UserChange::default() };
    let hashed = desk.change_user(bob.id, hashed, at(6)).await.unwrap();
    assert_eq!((hashed.password.expose(), hashed.generation), ("r", 1));
    let again = desk.change_user(bob.id, UserChange::default(), at(7)).await.unwrap();
    assert_eq!(again, hashed, "nothing was asked for");
    desk.reopen().await;
    assert_eq!(desk.user(bob.id).await, Ok(hashed));
    let ghost = UserId::from_bytes(bytes("ghost"));
    let unknown = desk.change_user(ghost, UserChange::default(), at(8)).await;
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
            desk.open_session(session(bob.id, 1, 1), at(1)).await.unwrap();
        }
        let changed = desk.change_user(bob.id, change, at(2)).await.unwrap();
        assert_eq!(changed.generation, generation);
        assert!(!desk.goes_on(bob.id, 1, 3).await);
    }
    let same = desk.change_user(bob.id, disable(false), at(4)).await.unwrap();
    assert_eq!(same.generation, 4, "it was so before");
}

pub(crate) async fn the_last_admin_stays(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    let demote = UserChange { role: Some(Role::User), ..UserChange::default() };
    let disable = UserChange { disabled: Some(true), ..UserChange::default() };
    let promote = UserChange { role: Some(Role::Admin), ..UserChange::default() };
    for change in [&demote, &disable] {
        let refused = desk.change_user(ada.id, change.clone(), at(1)).await;
        assert_eq!(refused, Err(Error::LastAdmin));
    }
    assert_eq!(desk.delete_user(ada.id, at(1)).await, Err(Error::LastAdmin));
    assert_eq!(desk.user(ada.id).await, Ok(ada.clone()), "what is refused changes nothing");
    desk.change_user(bob.id, promote, at(2)).await.unwrap();
    desk.change_user(bob.id, disable.clone(), at(3)).await.unwrap();
    let refused = desk.delete_user(ada.id, at(4)).await;
    assert_eq!(refused, Err(Error::LastAdmin), "one who is disabled does not count");
    let enable = UserChange { disabled: Some(false), ..UserChange::default() };
    desk.change_user(bob.id, enable, at(5)).await.unwrap();
    let both = [ada.id, bob.id].map(|user| {
        let (accounts, demote) = (desk.accounts.clone().unwrap(), demote.clone());
        tokio::spawn(async move { accounts.change_user(user, demote, at(6)).await.is_ok() })
    });
    let mut done = 0;
    for one in both {
        done += usize::from(one.await.unwrap());
    }
    assert_eq!(done, 1, "of two who step down at once, one stays");
}

pub(crate) async fn a_deleted_user_leaves_nothing_to_get_in_with(desk: &mut Desk) {
    let (_, bob) = desk.two().await;
    desk.open_session(session(bob.id, 1, 1), at(1)).await.unwrap();
    desk.create_key(key(bob.id, 2), at(1)).await.unwrap();
    desk.delete_user(bob.id, at(2)).await.unwrap();
    desk.reopen().await;
    assert_eq!(desk.names().await, ["ada"]);
    assert!(!desk.goes_on(bob.id, 1, 3).await);
    assert!(desk.key(KeyId::from_bytes([2; 16])).await.unwrap().is_none());
    assert_eq!(desk.delete_user(bob.id, at(3)).await, Err(Error::NoSuchUser(bob.id)));
    let opened = desk.open_session(session(bob.id, 1, 1), at(3)).await;
    assert_eq!(opened, Err(Error::NoSuchUser(bob.id)));
    let made = desk.create_key(key(bob.id, 3), at(3)).await;
    assert_eq!(made, Err(Error::NoSuchUser(bob.id)));
    let heir = NewUser { id: UserId::from_bytes([9; 16]), ..new("bob", Role::User) };
    let heir = desk.create_user(heir, Admit::Anytime, at(4)).await.unwrap();
    assert!(desk.keys_of(heir.id).await.unwrap().is_empty());
}

pub(crate) async fn a_session_goes_on_until_it_is_ended_or_expires(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    for (user, number) in [(ada.id, 1), (bob.id, 2), (bob.id, 3), (bob.id, 4)] {
        desk.open_session(session(user, number, 1), at(1)).await.unwrap();
    }
    desk.reopen().await;
    assert!(desk.goes_on(bob.id, 2, 999).await);
    assert!(!desk.goes_on(bob.id, 2, 1_000).await, "its time is over");
    assert!(!desk.goes_on(ada.id, 2, 2).await, "it is another user's");
    desk.end_session(bob.id, session_id(2), at(2)).await.unwrap();
    desk.end_session(bob.id, session_id(2), at(2)).await.unwrap();
    desk.end_session(bob.id, session_id(1), at(2)).await.unwrap();
    assert!(!desk.goes_on(bob.id, 2, 3).await);
    assert!(desk.goes_on(bob.id, 3, 3).await);
    desk.end_sessions(bob.id, at(4)).await.unwrap();
    assert!(!desk.goes_on(bob.id, 3, 5).await);
    assert!(!desk.goes_on(bob.id, 4, 5).await);
    assert!(desk.goes_on(ada.id, 1, 5).await, "nobody ends a session of somebody else");
}

pub(crate) async fn a_refresh_token_is_good_once(desk: &mut Desk) {
    let ada = desk.create("ada", Role::Admin).await;
    desk.open_session(session(ada.id, 1, 1), at(1)).await.unwrap();
    let rotate = async |desk: &Desk, shown: u8, next: u8, second| {
        let (shown, next) = (Digest::new([shown; 32]), Digest::new([next; 32]));
        desk.rotate_session(ada.id, session_id(1), shown, next, at(second)).await
    };
    let (user, rotated) = rotate(desk, 1, 2, 2).await.unwrap();
    assert_eq!((user, rotated.expires_at), (ada.clone(), at(1_000)));
    desk.reopen().await;
    rotate(desk, 2, 3, 3).await.unwrap();
    assert!(desk.goes_on(ada.id, 1, 4).await);
    assert_eq!(rotate(desk, 1, 4, 5).await.unwrap_err(), Error::SessionReused);
    assert!(!desk.goes_on(ada.id, 1, 6).await, "a thief and the robbed both have to log in");
    assert_eq!(rotate(desk, 3, 4, 7).await.unwrap_err(), Error::NoSuchSession);
    desk.open_session(session(ada.id, 1, 8), at(8)).await.unwrap();
    assert_eq!(rotate(desk, 1, 2, 1_000).await.unwrap_err(), Error::NoSuchSession);
}

pub(crate) async fn of_one_refresh_token_shown_twice_at_once_one_is_taken(desk: &mut Desk) {
    let ada = desk.create("ada", Role::Admin).await;
    desk.open_session(session(ada.id, 1, 1), at(1)).await.unwrap();
    let shown = [2, 3].map(|next| {
        let (accounts, user) = (desk.accounts.clone().unwrap(), ada.id);
        let (shown, next) = (Digest::new([1; 32]), Digest::new([next; 32]));
        tokio::spawn(async move {
            accounts.rotate_session(user, session_id(1), shown, next, at(2)).await.is_ok()
        })
    });
    let mut taken = 0;
    for one in shown {
        taken += usize::from(one.await.unwrap());
    }
    assert_eq!(taken, 1);
    assert!(!desk.goes_on(ada.id, 1, 3).await);
}

pub(crate) async fn a_user_has_only_so_many_sessions(desk: &mut Desk) {
    let ada = desk.create("ada", Role::Admin).await;
    let most = u8::try_from(MAX_SESSIONS).unwrap();
    for number in 0..=most {
        let session = session(ada.id, number, i64::from(number));
        desk.open_session(session, at(i64::from(number))).await.unwrap();
    }
    assert!(!desk.goes_on(ada.id, 0, 100).await, "the oldest makes room");
    assert!(desk.goes_on(ada.id, 1, 100).await);
    assert!(desk.goes_on(ada.id, most, 100).await);
}

pub(crate) async fn keys_stand_in_their_users_place_until_they_are_revoked(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    for number in [2, 1] {
        desk.create_key(key(bob.id, number), at(1)).await.unwrap();
    }
    desk.create_key(key(ada.id, 3), at(1)).await.unwrap();
    desk.reopen().await;
    let (found, user) = desk.key(KeyId::from_bytes([1; 16])).await.unwrap().unwrap();
    assert_eq!((user, &*found.name), (bob.clone(), "ci"));
    assert!(found.digest.matches(&Digest::new([1; 32])));
    assert_eq!(found.scopes.names(), ["read"]);
    assert!(found.holds_at(at(49)) && !found.holds_at(at(50)));
    desk.note_key_use(found.id, at(7)).await.unwrap();
    let keys = desk.keys_of(bob.id).await.unwrap();
    let used: Vec<Option<Timestamp>> = keys.iter().map(|key| key.last_used_at).collect();
    assert_eq!(used, [Some(at(7)), None]);
    let others = desk.revoke_key(ada.id, found.id, at(8)).await;
    assert_eq!(others, Err(Error::NoSuchKey(found.id)), "it is another user's");
    desk.revoke_key(bob.id, found.id, at(9)).await.unwrap();
    desk.note_key_use(found.id, at(10)).await.unwrap();
    assert!(desk.key(found.id).await.unwrap().is_none());
    let twice = desk.revoke_key(bob.id, found.id, at(11)).await;
    assert_eq!(twice, Err(Error::NoSuchKey(found.id)));
    assert_eq!(desk.keys_of(bob.id).await.unwrap().len(), 1);
}

pub(crate) async fn a_user_has_only_so_many_keys(desk: &mut Desk) {
    let ada = desk.create("ada", Role::Admin).await;
    let most = u8::try_from(ApiKey::MOST).unwrap();
    for number in 0..most {
        desk.create_key(key(ada.id, number), at(1)).await.unwrap();
    }
    assert_eq!(desk.create_key(key(ada.id, most), at(1)).await, Err(Error::TooManyKeys));
    desk.revoke_key(ada.id, KeyId::from_bytes([0; 16]), at(2)).await.unwrap();
    desk.create_key(key(ada.id, most), at(3)).await.unwrap();
}

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

/// Runs every case about accounts on one engine.
macro_rules! account_conformance {
    ($engine:ident, $open:path) => {
        account_conformance! { @cases $engine, $open,
            the_first_user_is_an_admin_and_no_other_unasked,
            of_many_first_users_at_once_there_is_one,
            a_name_is_one_users_in_all_its_spellings,
            users_page_in_the_order_of_their_ids,
            a_change_keeps_what_it_does_not_name,
            a_new_password_and_a_ban_end_what_was_handed_out,
            the_last_admin_stays,
            a_deleted_user_leaves_nothing_to_get_in_with,
            a_session_goes_on_until_it_is_ended_or_expires,
            a_refresh_token_is_good_once,
            of_one_refresh_token_shown_twice_at_once_one_is_taken,
            a_user_has_only_so_many_sessions,
            keys_stand_in_their_users_place_until_they_are_revoked,
            a_user_has_only_so_many_keys,
            attempts_are_let_through_up_to_a_limit_in_each_window,
            attempts_at_once_are_all_counted,
            attempts_are_forgotten_when_asked,
        }
    };
    (@cases $engine:ident, $open:path, $($case:ident,)*) => {
        mod $engine {
            $(#[tokio::test]
            async fn $case() {
                let place = $open().await;
                let mut desk = $crate::conformance::accounts::Desk::new(place).await;
                $crate::conformance::accounts::$case(&mut desk).await;
            })*
        }
    };
}
pub(crate) use account_conformance;
