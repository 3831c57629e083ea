//! How far the history has come, for those who ask.

use chronos_core::store::{self, AuditFilter, AuditWalk, Store};
use chronos_history::Archives;

use super::{History, State};
use crate::problem::Problem;

/// Where the history stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// This node keeps none.
    Absent,
    /// It is not there yet.
    Opening,
    /// It reads what happened before, from the journal.
    CatchingUp,
    /// It is up to date, but for the last moments.
    Following,
    /// It cannot be used as it is.
    Refused,
}

impl Phase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Opening => "opening",
            Self::CatchingUp => "catching_up",
            Self::Following => "following",
            Self::Refused => "refused",
        }
    }
}

/// How the history is.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) phase: Phase,
    /// What is wrong, if something is.
    pub(crate) problem: Option<String>,
    /// The place in the journal up to which it was read.
    pub(crate) read: u64,
    /// The place of the newest entry of the journal.
    pub(crate) newest: u64,
    /// Whether something that is old enough is not told of yet.
    pub(crate) to_roll_up: bool,
    /// Bytes on disk.
    pub(crate) bytes: u64,
}

impl History {
    /// Has the archive made again, whatever state it is in; says why not, where there is none.
    pub(crate) fn rebuild(&self) -> Result<(), String> {
        let mut state = self.state();
        match &mut *state {
            State::Absent(why) => return Err((*why).into()),
            State::Closed => return Err("the node stops".into()),
            // Until the follower hears of it nobody is told that it is up to date.
            State::Open(open) => open.caught_up = false,
            State::Opening(_) | State::Emptying | State::Refused(_) => {}
        }
        self.0.asked.notify_one();
        Ok(())
    }

    /// How it is.
    pub(crate) async fn standing(&self) -> Result<Standing, Problem> {
        let (phase, problem) = match &*self.state() {
            State::Absent(why) => (Phase::Absent, Some((*why).to_owned())),
            State::Opening(why) => (Phase::Opening, why.clone()),
            State::Emptying | State::Closed => (Phase::Opening, None),
            State::Refused(why) => (Phase::Refused, Some(why.clone())),
            State::Open(open) if open.caught_up => (Phase::Following, None),
            State::Open(_) => (Phase::CatchingUp, None),
        };
        let newest = newest(self.0.store.as_ref()).await?;
        let (mut read, mut bytes, mut to_roll_up) = (0, 0, false);
        if let Ok(archive) = self.archive() {
            let looked =
                self.read(|archive| Ok((archive.cursor()?.sequence, archive.size()))).await;
            (read, bytes) = looked?;
            to_roll_up = self.rollup_of(archive).is_due(self.0.clock.now()).await.unwrap_or(true);
        }
        Ok(Standing { phase, problem, read, newest, to_roll_up, bytes })
    }
}

/// The place of the newest decision.
async fn newest(store: &dyn Store) -> store::Result<u64> {
    let newest = store.find_audit(&AuditFilter::default(), AuditWalk::NewestFirst(None), 1).await?;
    Ok(newest.events.first().map_or(0, |event| event.sequence))
}
