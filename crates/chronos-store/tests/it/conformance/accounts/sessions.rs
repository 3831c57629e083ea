//! Sessions: a login that goes on by tokens of which each is good once.

use chronos_core::account::{Digest, Error, MAX_SESSIONS, Role};

use super::{Desk, session, session_id};
use crate::bench::at;

pub(crate) async fn a_session_goes_on_until_it_is_ended_or_expires(desk: &mut Desk) {
    let (ada, bob) = desk.two().await;
    for (user, number) in [(ada.id, 1), (bob.id, 2), (bob.id, 3), (bob.id, 4)] {
        desk.open_session(session(user, number, 1), at(1).into()).await.unwrap();
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
    desk.open_session(session(ada.id, 1, 1), at(1).into()).await.unwrap();
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
    desk.open_session(session(ada.id, 1, 8), at(8).into()).await.unwrap();
    assert_eq!(rotate(desk, 1, 2, 1_000).await.unwrap_err(), Error::NoSuchSession);
}

pub(crate) async fn of_one_refresh_token_shown_twice_at_once_one_is_taken(desk: &mut Desk) {
    let ada = desk.create("ada", Role::Admin).await;
    desk.open_session(session(ada.id, 1, 1), at(1).into()).await.unwrap();
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
        desk.open_session(session, at(i64::from(number)).into()).await.unwrap();
    }
    assert!(!desk.goes_on(ada.id, 0, 100).await, "the oldest makes room");
    assert!(desk.goes_on(ada.id, 1, 100).await);
    assert!(desk.goes_on(ada.id, most, 100).await);
}
