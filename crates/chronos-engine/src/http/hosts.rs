//! Room per host, so that one that hangs cannot take the connections of all others.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use reqwest::Url;
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many requests go to each host at once; the others wait their turn, in order.
#[derive(Debug)]
pub(super) struct Hosts {
    most: usize,
    rooms: Mutex<FxHashMap<Box<str>, Weak<Semaphore>>>,
}

impl Hosts {
    pub(super) fn new(most: usize) -> Self {
        Self { most, rooms: Mutex::default() }
    }

    /// How many requests go to one host at once.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Waits for room at the URL's host; it is taken until what this gives back is dropped.
    pub(super) async fn enter(&self, url: &Url) -> Option<OwnedSemaphorePermit> {
        // A semaphore that is never closed always lets in.
        self.room(url).acquire_owned().await.ok()
    }

    fn room(&self, url: &Url) -> Arc<Semaphore> {
        let port = url.port_or_known_default().unwrap_or_default();
        let host = format!("{}:{port}", url.host_str().unwrap_or_default());
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(&*host).and_then(Weak::upgrade) {
            return room;
        }
        // Hosts come and go; only those in use are remembered.
        rooms.retain(|_, room| room.strong_count() > 0);
        let room = Arc::new(Semaphore::new(self.most));
        rooms.insert(host.into(), Arc::downgrade(&room));
        room
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn each_host_has_its_own_room_and_is_forgotten_with_it() {
        let hosts = Hosts::new(2);
        let url = |text: &str| Url::parse(text).unwrap();
        let enter = |text: &str| hosts.enter(&url(text)).now_or_never().flatten();
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
