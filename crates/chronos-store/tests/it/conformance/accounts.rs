//! Accounts: who may ask for what, remembered by every store alike.

pub(crate) mod attempts;
pub(crate) mod events;
pub(crate) mod keys;
pub(crate) mod sessions;
pub(crate) mod users;

use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use chronos_core::account::{
    Accounts, Admit, ApiKey, Digest, NewUser, PasswordHash, Role, Scopes, Session, User, UserName,
};
use chronos_core::{KeyId, SessionId, UserId};

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
        self.create_user(new(user, role), Admit::Anytime, at(0).into()).await.unwrap()
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

/// Runs every case about accounts on one engine.
macro_rules! account_conformance {
    ($engine:ident, $open:path) => {
        account_conformance! { @cases $engine, $open,
            users {
                the_first_user_is_an_admin_and_no_other_unasked,
                of_many_first_users_at_once_there_is_one,
                a_name_is_one_users_in_all_its_spellings,
                users_page_in_the_order_of_their_ids,
                a_change_keeps_what_it_does_not_name,
                a_new_password_and_a_ban_end_what_was_handed_out,
                the_last_admin_stays,
                a_deleted_user_leaves_nothing_to_get_in_with,
            }
            sessions {
                a_session_goes_on_until_it_is_ended_or_expires,
                a_refresh_token_is_good_once,
                of_one_refresh_token_shown_twice_at_once_one_is_taken,
                a_user_has_only_so_many_sessions,
            }
            keys {
                keys_stand_in_their_users_place_until_they_are_revoked,
                a_user_has_only_so_many_keys,
            }
            events {
                every_change_is_told_once_with_who_did_it,
                what_is_refused_is_not_told,
            }
            attempts {
                attempts_are_let_through_up_to_a_limit_in_each_window,
                attempts_at_once_are_all_counted,
                attempts_are_forgotten_when_asked,
            }
        }
    };
    (@cases $engine:ident, $open:path, $($theme:ident { $($case:ident,)* })*) => {
        mod $engine {
            $(mod $theme {
                $(#[tokio::test]
                async fn $case() {
                    let place = $open().await;
                    let mut desk = $crate::conformance::accounts::Desk::new(place).await;
                    $crate::conformance::accounts::$theme::$case(&mut desk).await;
                })*
            })*
        }
    };
}
pub(crate) use account_conformance;
