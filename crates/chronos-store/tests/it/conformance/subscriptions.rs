//! Subscriptions: where message events go and how far that has come, remembered by every store alike.

pub(crate) mod delivering;
pub(crate) mod keeping;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chronos_core::http::Sealed;
use chronos_core::store::Terms;
use chronos_core::subscription::{Filter, Pattern, Report, Subscription, Subscriptions};
use chronos_core::{Http, JobId, SubscriptionId, WorkerId};

use crate::bench::at;

/// An empty place where a store keeps subscriptions.
#[async_trait]
pub(crate) trait Shelf: Send + Sync {
    /// Opens the store; the one opened before is closed by then.
    async fn subscriptions(&self) -> Arc<dyn Subscriptions>;
}

/// A store of subscriptions, and the ability to close and open it again.
pub(crate) struct Rack {
    shelf: Box<dyn Shelf>,
    subscriptions: Option<Arc<dyn Subscriptions>>,
}

impl Deref for Rack {
    type Target = dyn Subscriptions;

    fn deref(&self) -> &Self::Target {
        self.subscriptions.as_deref().unwrap()
    }
}

impl Rack {
    pub(crate) async fn new(shelf: impl Shelf + 'static) -> Self {
        let subscriptions = Some(shelf.subscriptions().await);
        Self { shelf: Box::new(shelf), subscriptions }
    }

    async fn reopen(&mut self) {
        self.subscriptions = None;
        self.subscriptions = Some(self.shelf.subscriptions().await);
    }

    async fn put(&self, number: u8, owner: &str) -> Subscription {
        let new = new(number, owner);
        self.create_subscription(new.clone(), None).await.unwrap();
        new
    }

    /// What a worker gets that asks at this second.
    async fn claim(&self, worker: &str, second: i64) -> Vec<Subscription> {
        self.claim_subscriptions(&WorkerId::new(worker), terms(second), 10).await.unwrap()
    }

    /// The one that a worker gets that asks at this second.
    async fn claim_one(&self, worker: &str, second: i64) -> Subscription {
        let mut claimed = self.claim(worker, second).await;
        assert_eq!(claimed.len(), 1, "{claimed:?}");
        claimed.remove(0)
    }

    /// What a report of whoever holds it makes of it.
    async fn report(&self, held: &Subscription, report: Report, second: i64) -> Subscription {
        self.report_delivery(held.hold(), report, terms(second)).await.unwrap()
    }
}

fn terms(second: i64) -> Terms {
    Terms { now: at(second), lease: Duration::from_secs(30) }
}

fn id(number: u8) -> SubscriptionId {
    SubscriptionId::from_bytes([number; 16])
}

/// A subscription that says all that one can say.
fn new(number: u8, owner: &str) -> Subscription {
    let endpoint = Http::new("https://example.com/events?k=v").unwrap();
    let endpoint = endpoint.with_header("X-Team", "blue").unwrap();
    let endpoint = endpoint.with_secret_header("Authorization", Sealed::new("v1.a.b")).unwrap();
    let endpoint = endpoint.signed_with_secret(Sealed::new("v1.c.d"));
    let filter = Filter {
        jobs: [JobId::from_bytes([1; 16]), JobId::from_bytes([2; 16])].into(),
        name: Some(Pattern::new("nightly-*")),
        tag: Some("billing".into()),
        owner: Some(owner.into()),
    };
    let name = format!("number {number}");
    let new = Subscription::new(id(number), &name, endpoint, 40, at(0));
    Subscription { owner: owner.into(), filter, ..new }
}

/// Runs every case about subscriptions on one engine.
macro_rules! subscription_conformance {
    ($engine:ident, $open:path) => {
        subscription_conformance! { @cases $engine, $open,
            keeping {
                a_subscription_keeps_all_that_it_says,
                subscriptions_page_in_the_order_of_their_ids,
                names_are_one_of_each_owner,
                an_owner_has_no_more_subscriptions_than_it_may,
                an_edit_keeps_what_identifies_it_and_counts_versions,
                what_cannot_be_meant_is_refused,
                an_unknown_subscription_is_said_to_be_unknown,
            }
            delivering {
                one_worker_at_a_time_holds_a_subscription,
                an_old_token_is_powerless,
                the_cursor_outlives_whoever_moved_it,
                renewals_are_answered_one_by_one_in_order,
                what_failed_is_offered_when_its_time_has_come,
                what_is_paused_is_offered_to_nobody,
                a_pause_that_is_to_be_told_is_offered,
                an_edit_reaches_whoever_delivers,
                what_is_deleted_is_held_by_nobody,
                claims_keep_to_their_limit_and_none_is_given_twice,
            }
        }
    };
    (@cases $engine:ident, $open:path, $($theme:ident { $($case:ident,)* })*) => {
        mod $engine {
            $(mod $theme {
                $(#[tokio::test]
                async fn $case() {
                    let shelf = $open().await;
                    let mut rack = $crate::conformance::subscriptions::Rack::new(shelf).await;
                    $crate::conformance::subscriptions::$theme::$case(&mut rack).await;
                })*
            })*
        }
    };
}
pub(crate) use subscription_conformance;
