//! Waking: whoever sleeps until something is due is told when something is due earlier.
//!
//! A step tells the hooks of its own node at once. Other nodes are told by a notification, sent after the
//! commit and at most every few milliseconds, because a notification inside a transaction makes all
//! commits of the cluster queue up. A notification that is lost costs the time of one poll.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use chronos_core::Timestamp;
use chronos_core::store::{Wake, WakeHook};
use tokio::sync::Notify;

/// Time between two notifications of a node.
pub(super) const BETWEEN: Duration = Duration::from_millis(50);

pub(super) struct Wakes {
    hooks: RwLock<Vec<WakeHook>>,
    /// When the planner was last told that a job is due, and the dispatcher that an execution is.
    pub(super) said_due: Said,
    pub(super) said_ready: Said,
    /// What other nodes are to be told.
    pending: Mutex<News>,
    pub(super) bell: Notify,
    /// Whether what other nodes tell is heard.
    pub(super) hearing: AtomicBool,
    /// Tells this node's notifications from others'.
    node: u64,
    pub(super) channel: String,
}

/// What a node tells the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    pub(super) due: Option<Timestamp>,
    pub(super) ready: Option<Timestamp>,
    pub(super) cancel: bool,
    pub(super) messages: bool,
    pub(super) backfills: bool,
}

/// What a sleeper was told last.
#[derive(Default)]
pub(super) struct Said(Mutex<Told>);

#[derive(Clone, Copy, Default)]
struct Told {
    /// Answers that are being looked for.
    asking: u32,
    /// The time in the last answer, while it holds. A sleeper that was told of none sleeps for ever.
    answer: Option<Timestamp>,
}

/// An answer that is being looked for.
pub(super) struct Asking<'a>(&'a Said);

impl Said {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Someone asks when there is something to do; to be called before the question is put.
    pub(super) fn ask(&self) -> Asking<'_> {
        let mut told = self.told();
        told.asking += 1;
        told.answer = None;
        Asking(self)
    }

    /// Whether a sleeper should hear of something at this time. While the answer is being looked for it
    /// may miss it, so it should.
    fn concerns(&self, time: Timestamp) -> bool {
        self.told().answer.is_none_or(|told| time < told)
    }
}

impl Asking<'_> {
    pub(super) fn answer(self, next: Option<Timestamp>) {
        let mut told = self.0.told();
        if told.asking == 1 {
            told.answer = next;
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.told().asking -= 1;
    }
}

impl Wakes {
    pub(super) fn new(schema: &str) -> Self {
        Self {
            hooks: RwLock::default(),
            said_due: Said::default(),
            said_ready: Said::default(),
            pending: Mutex::default(),
            bell: Notify::new(),
            hearing: AtomicBool::new(false),
            // Two hashers of one process and of two differ by chance.
            node: RandomState::new().hash_one(0),
            channel: format!("chronos_{schema}"),
        }
    }

    pub(super) fn watch(&self, hook: WakeHook) {
        self.hooks.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    pub(super) fn call(&self, wake: Wake) {
        for hook in self.hooks.read().unwrap_or_else(PoisonError::into_inner).iter() {
            hook(wake);
        }
    }

    /// A job of this node's step is due at this time; told to its own hooks, unless the step's answer
    /// does.
    pub(super) fn due(&self, at: Timestamp, answered: bool) {
        if !answered {
            self.hear_due(at);
        }
        self.report(|news| news.due = Some(news.due.map_or(at, |due| due.min(at))));
    }

    /// An execution of this node's step may begin at this time.
    pub(super) fn ready(&self, at: Timestamp) {
        self.hear_ready(at);
        self.report(|news| news.ready = Some(news.ready.map_or(at, |ready| ready.min(at))));
    }

    pub(super) fn cancelled(&self) {
        self.call(Wake::Cancel);
        self.report(|news| news.cancel = true);
    }

    /// Messages of this node's step can be read.
    pub(super) fn emitted(&self) {
        self.call(Wake::Message);
        self.report(|news| news.messages = true);
    }

    /// A backfill may go on by this node's step.
    pub(super) fn backfilled(&self) {
        self.call(Wake::Backfill);
        self.report(|news| news.backfills = true);
    }

    pub(super) fn hear_due(&self, at: Timestamp) {
        if self.said_due.concerns(at) {
            self.call(Wake::Job);
        }
    }

    pub(super) fn hear_ready(&self, at: Timestamp) {
        if self.said_ready.concerns(at) {
            self.call(Wake::Execution);
        }
    }

    fn report(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        self.bell.notify_one();
    }

    /// What there is to tell, as it is sent.
    pub(super) fn take_news(&self) -> Option<String> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let News { due, ready, cancel, messages, backfills } = std::mem::take(&mut *pending);
        if due.is_none() && ready.is_none() && !cancel && !messages && !backfills {
            return None;
        }
        let field = |time: Option<Timestamp>| {
            time.map_or_else(|| "-".to_owned(), |time| time.as_micros().to_string())
        };
        let cancel = if cancel { "cancel" } else { "-" };
        let messages = if messages { "messages" } else { "-" };
        let backfills = if backfills { "backfills" } else { "-" };
        let times = format!("{} {} {}", self.node, field(due), field(ready));
        Some(format!("{times} {cancel} {messages} {backfills}"))
    }

    /// What another node says; nothing when it is this node's own voice. What cannot be understood, as
    /// that of a newer program, is taken for news of everything.
    pub(super) fn understand(&self, text: &str) -> Option<News> {
        let mut words = text.split(' ');
        if words.next() == Some(self.node.to_string().as_str()) {
            return None;
        }
        let (cancel, messages, backfills) = (true, true, true);
        let (due, ready) = (Some(Timestamp::MIN), Some(Timestamp::MIN));
        let everything = News { due, ready, cancel, messages, backfills };
        let time = |word: Option<&str>| match word? {
            "-" => Some(None),
            micros => micros.parse().ok().map(|micros| Some(Timestamp::from_micros(micros))),
        };
        let (due, ready) = (time(words.next()), time(words.next()));
        let cancel = words.next().map(|word| word == "cancel");
        // Nodes of an earlier version say nothing of messages, and emit none.
        let messages = words.next() == Some("messages");
        let backfills = words.next() == Some("backfills");
        match (due, ready, cancel) {
            (Some(due), Some(ready), Some(cancel)) => {
                Some(News { due, ready, cancel, messages, backfills })
            }
            _ => Some(everything),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_secs(second)
    }

    #[test]
    fn news_reach_other_nodes_and_not_their_own() {
        let (one, other) = (Wakes::new("s"), Wakes::new("s"));
        assert_eq!(one.take_news(), None);
        one.due(at(20), true);
        one.due(at(10), true);
        one.cancelled();
        one.emitted();
        one.backfilled();
        let text = one.take_news().unwrap();
        assert_eq!(one.understand(&text), None);
        let (due, ready) = (Some(at(10)), None);
        let news = News { due, ready, cancel: true, messages: true, backfills: true };
        assert_eq!(other.understand(&text), Some(news));
        assert_eq!(one.take_news(), None, "news are told once");
        assert_eq!(other.understand("from the future").unwrap().due, Some(Timestamp::MIN));
    }

    #[test]
    fn a_sleeper_hears_of_what_is_earlier_than_it_was_told() {
        let said = Said::default();
        assert!(said.concerns(at(50)), "nobody was told anything");
        said.ask().answer(Some(at(20)));
        assert!(said.concerns(at(19)));
        assert!(!said.concerns(at(20)));
        said.ask().answer(None);
        assert!(said.concerns(at(99)));
    }

    #[test]
    fn whoever_is_asking_hears_of_everything() {
        let said = Said::default();
        said.ask().answer(Some(at(20)));
        let asking = said.ask();
        assert!(said.concerns(at(30)));
        let second = said.ask();
        asking.answer(Some(at(40)));
        assert!(said.concerns(at(50)), "the other answer may have missed it");
        drop(second);
        assert!(said.concerns(at(50)));
    }
}
