//! Keys: they stand in their user's place until they are revoked.

use chronos_core::account::{ApiKey, Digest, Error, Role};
use chronos_core::{KeyId, Timestamp};

use super::{Desk, key};
use crate::bench::at;

pub(crate) async fn keys_stand_in_their_users_place_until_they_are_revoked(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    for number in [2, 1] {
        desk.create_key(key(bob.id, number), at(1).into()).await.unwrap();
    }
    desk.create_key(key(ada.id, 3), at(1).into()).await.unwrap();
    desk.reopen().await;
    let (found, user) = desk.key(KeyId::from_bytes([1; 16])).await.unwrap().unwrap();
    assert_eq!((user, &*found.name), (bob.clone(), "ci"));
    assert!(found.digest.matches(&Digest::new([1; 32])));
    assert_eq!(found.scopes.names(), ["read"]);
    assert!(found.holds_at(at(49)) && !found.holds_at(at(50)));
    desk.note_key_use(found.id, at(7)).await.unwrap();
    let keys = desk.keys_of(bob.id).await.unwrap();
    let last: Vec<Option<Timestamp>> = keys.iter().map(|key| key.last_used_at).collect();
    assert_eq!(last, [Some(at(7)), None]);
    let others = desk.revoke_key(ada.id, found.id, at(8).into()).await;
    assert_eq!(others, Err(Error::NoSuchKey(found.id)), "it is another user's");
    desk.revoke_key(bob.id, found.id, at(9).into()).await.unwrap();
    desk.note_key_use(found.id, at(10)).await.unwrap();
    assert!(desk.key(found.id).await.unwrap().is_none());
    let twice = desk.revoke_key(bob.id, found.id, at(11).into()).await;
    assert_eq!(twice, Err(Error::NoSuchKey(found.id)));
    assert_eq!(desk.keys_of(bob.id).await.unwrap().len(), 1);
}

pub(crate) async fn a_user_has_only_so_many_keys(desk: &mut Desk) {
    let ada = desk.create("ada", Role::Admin).await;
    let most = u8::try_from(ApiKey::MOST).unwrap();
    for number in 0..most {
        desk.create_key(key(ada.id, number), at(1).into()).await.unwrap();
    }
    assert_eq!(desk.create_key(key(ada.id, most), at(1).into()).await, Err(Error::TooManyKeys));
    desk.revoke_key(ada.id, KeyId::from_bytes([0; 16]), at(2).into()).await.unwrap();
    desk.create_key(key(ada.id, most), at(3).into()).await.unwrap();
}
