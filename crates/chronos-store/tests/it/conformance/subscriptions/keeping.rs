//! What is known of subscriptions, and what is refused.

use chronos_core::Http;
use chronos_core::store;
use chronos_core::subscription::{Error, Subscription};
use futures::future::join_all;

use super::{Rack, id, new};
use crate::bench::at;

pub(crate) async fn a_subscription_keeps_all_that_it_says(rack: &mut Rack) {
    let made = rack.put(1, "ada").await;
    assert_eq!(rack.subscription(made.id).await.unwrap(), made);
    rack.reopen().await;
    assert_eq!(rack.subscription(made.id).await.unwrap(), made);
    assert_eq!(made.delivery.cursor, 40);
}

pub(crate) async fn subscriptions_page_in_the_order_of_their_ids(rack: &mut Rack) {
    for (number, owner) in [(3, "ada"), (1, "bob"), (2, "ada"), (4, "bob")] {
        rack.put(number, owner).await;
    }
    rack.reopen().await;
    let ids = async |owner, after, limit| {
        let found = rack.subscriptions(owner, after, limit).await.unwrap();
        found.iter().map(|found| found.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, None, 10).await, [id(1), id(2), id(3), id(4)]);
    assert_eq!(ids(None, Some(id(1)), 2).await, [id(2), id(3)]);
    assert_eq!(ids(Some("ada"), None, 10).await, [id(2), id(3)]);
    assert_eq!(ids(Some("bob"), Some(id(1)), 10).await, [id(4)]);
    assert_eq!(ids(Some("ada' OR true"), None, 10).await, []);
    assert_eq!(ids(None, None, 0).await, []);
}

pub(crate) async fn names_are_one_of_each_owner(rack: &mut Rack) {
    rack.put(1, "ada").await;
    let same = Subscription { name: "number 1".into(), ..new(2, "ada") };
    let taken = Error::NameTaken("number 1".into());
    assert_eq!(rack.create_subscription(same.clone(), None).await, Err(taken.clone()));
    let of_bob = Subscription { owner: "bob".into(), ..same };
    rack.create_subscription(of_bob, None).await.unwrap();
    rack.put(3, "ada").await;
    let renamed = Subscription { name: "number 1".into(), ..new(3, "ada") };
    assert_eq!(rack.edit_subscription(renamed, None, at(1)).await, Err(taken));
    rack.delete_subscription(id(1)).await.unwrap();
    let free = Subscription { name: "number 1".into(), ..new(4, "ada") };
    rack.create_subscription(free, None).await.unwrap();
}

pub(crate) async fn an_owner_has_no_more_subscriptions_than_it_may(rack: &mut Rack) {
    rack.put(100, "bob").await;
    // An id of zeros is nobody's: lists begin after it.
    let at_once = (1..9).map(|number| rack.create_subscription(new(number, "ada"), Some(3)));
    let answers = join_all(at_once).await;
    let made = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(made, 3, "{answers:?}");
    for refused in answers.into_iter().filter_map(Result::err) {
        assert_eq!(refused, Error::TooManyOfOwner(3));
    }
    assert_eq!(rack.subscriptions(Some("ada"), None, 10).await.unwrap().len(), 3);
}

pub(crate) async fn an_edit_keeps_what_identifies_it_and_counts_versions(rack: &mut Rack) {
    let made = rack.put(1, "ada").await;
    let endpoint = Http::new("https://example.org/").unwrap();
    let edit = Subscription {
        name: "other".into(),
        owner: "mallory".into(),
        endpoint: endpoint.clone(),
        ..new(1, "ada")
    };
    let edited = rack.edit_subscription(edit.clone(), Some(1), at(5)).await.unwrap();
    rack.reopen().await;
    assert_eq!(rack.subscription(made.id).await.unwrap(), edited);
    assert_eq!((&*edited.owner, &*edited.name, edited.version), ("ada", "other", 2));
    assert_eq!((edited.created_at, edited.updated_at), (at(0), at(5)));
    assert_eq!((edited.endpoint, edited.delivery.cursor), (endpoint, 40));
    let late = rack.edit_subscription(edit, Some(1), at(6)).await;
    assert_eq!(late, Err(Error::Conflict { name: "other".into(), expected: 1, current: 2 }));
}

pub(crate) async fn what_cannot_be_meant_is_refused(rack: &mut Rack) {
    let nameless = Subscription { name: "".into(), ..new(1, "ada") };
    let refused = rack.create_subscription(nameless, None).await;
    assert!(matches!(refused, Err(Error::Store(store::Error::Invalid(_)))), "{refused:?}");
    let made = rack.put(1, "ada").await;
    let body = made.endpoint.clone().with_header("content-type", "text/plain").unwrap();
    let refused =
        rack.edit_subscription(Subscription { endpoint: body, ..made.clone() }, None, at(1)).await;
    assert!(matches!(refused, Err(Error::Store(store::Error::Invalid(_)))), "{refused:?}");
    assert_eq!(rack.subscription(made.id).await.unwrap(), made);
}

pub(crate) async fn an_unknown_subscription_is_said_to_be_unknown(rack: &mut Rack) {
    use chronos_core::subscription::Switch;
    let unknown = Error::NoSuchSubscription(id(9));
    assert_eq!(rack.subscription(id(9)).await, Err(unknown.clone()));
    assert_eq!(rack.delete_subscription(id(9)).await, Err(unknown.clone()));
    let switched = rack.switch_subscription(id(9), Switch::Pause, at(1)).await;
    assert_eq!(switched, Err(unknown.clone()));
    assert_eq!(rack.edit_subscription(new(9, "ada"), None, at(1)).await, Err(unknown));
}
