//! Rooms: how many requests go to one host, and from one owner, at once.
//!
//! One host that hangs cannot take the connections of all others, and one owner whose hosts hang cannot
//! take those of all other owners.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use reqwest::Url;
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::SchedulerConfig;

/// How many requests there may be at once; further ones wait their turn, and their timeouts begin after
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// To one host; zero counts as one.
    pub per_host: usize,
    /// From the jobs of one owner; zero counts as one. Jobs that belong to nobody have no limit.
    pub per_owner: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let per_host = SchedulerConfig::MAX_CALLS_PER_HOST;
        Self { per_host, per_owner: SchedulerConfig::MAX_CALLS_PER_OWNER }
    }
}

/// Room for requests, by what they have in common; whoever comes when there is none waits, in order.
#[derive(Debug)]
pub(super) struct Rooms {
    most: usize,
    rooms: Mutex<FxHashMap<Box<str>, Weak<Semaphore>>>,
}

/// Room for a request, until it is dropped.
pub(super) type Room = Option<OwnedSemaphorePermit>;

impl Rooms {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), rooms: Mutex::default() }
    }

    /// How many requests there may be at once.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Waits for room; it is taken until what this gives back is dropped.
    pub(super) async fn enter(&self, name: &str) -> Room {
        // A semaphore that is never closed always lets in.
        self.room(name).acquire_owned().await.ok()
    }

    fn room(&self, name: &str) -> Arc<Semaphore> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(name).and_then(Weak::upgrade) {
            return room;
        }
        // Names come and go; only those in use are remembered.
        rooms.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Semaphore::new(self.most));
        rooms.insert(name.into(), Arc::downgrade(&room));
        room
    }
}

/// What requests to the same host and port have in common.
pub(super) fn host_of(url: &Url) -> String {
    let port = url.port_or_known_default().unwrap_or_default();
    format!("{}:{port}", url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn each_host_has_its_own_room_and_is_forgotten_with_it() {
        let hosts = Rooms::new(2);
        let url = |text: &str| Url::parse(text).unwrap();
        let enter = |text: &str| hosts.enter(&host_of(&url(text))).now_or_never().flatten();
        let (first, second) = (enter("http://a/x"), enter("http://a/y?z"));
        assert!(first.is_some() && second.is_some());
        assert!(enter("http://A:80/").is_none(), "the third has to wait");
        assert!(enter("http://a:81/").is_some() && enter("http://b/").is_some());
        drop(first);
        assert!(enter("http://a/").is_some());
        drop(second);
        assert!(enter("http://c/").is_some());
        assert_eq!(hosts.rooms.lock().unwrap().len(), 1);
    }
}
