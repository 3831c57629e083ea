//! Causes: why runs failed, with what varies from run to run left out.

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use chronos_core::audit::EndingKind;
use chronos_core::{ExecutionId, Timestamp};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::entry::Ended;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// Its target answered this.
    Answered(u16),
    /// It said this, without the numbers that differ each time.
    Said(Box<str>),
    /// It ran longer than it may.
    TimedOut,
    /// Its worker died, froze or was cut off.
    Lost,
}

/// An execution, and when it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sighting {
    /// When it came to its end.
    pub at: Timestamp,
    /// The execution.
    pub execution: ExecutionId,
}

/// The causes of a job's failures in a period, with how often each was seen.
///
/// There may be more causes than are kept. Which are kept is decided by a hash of each alone, so that it does
/// not depend on the order in which parts are put together, and what is kept is counted in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Causes(BTreeMap<u64, Known>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    cause: Cause,
    count: u64,
    first: Sighting,
}

impl Cause {
    /// What is kept of a text, in characters.
    const MAX_TEXT: usize = 120;

    /// Why the run failed, if it did.
    #[must_use]
    pub fn of(ended: &Ended) -> Option<Self> {
        match ended.ending {
            EndingKind::Failed => Some(match (ended.response, &ended.error) {
                (Some(status), _) => Self::Answered(status),
                (None, Some(error)) => Self::Said(without_numbers(error)),
                (None, None) => Self::Said("no reason given".into()),
            }),
            EndingKind::TimedOut => Some(Self::TimedOut),
            EndingKind::Stuck => Some(Self::Lost),
            EndingKind::Success | EndingKind::Cancelled | EndingKind::Skipped => None,
        }
    }

    /// The cause in a few words; `host` is where the job's requests go.
    #[must_use]
    pub fn in_words(&self, host: Option<&str>) -> String {
        match (self, host) {
            (Self::Answered(status), Some(host)) => format!("{status} from {host}"),
            (Self::Answered(status), None) => format!("answered {status}"),
            (Self::Said(text), _) => format!("\"{text}\""),
            (Self::TimedOut, _) => "timed out".into(),
            (Self::Lost, _) => "lost with the worker".into(),
        }
    }

    /// The cause in a word that one would search for.
    #[must_use]
    pub fn keyword(&self) -> Box<str> {
        match self {
            Self::Answered(status) => status.to_string().into(),
            Self::Said(text) => text.clone(),
            Self::TimedOut => "timeout".into(),
            Self::Lost => "lost".into(),
        }
    }

    fn hash(&self) -> u64 {
        // Written down and compared with what an older program wrote, so nothing that may change.
        let mut hasher = SipHasher13::new();
        match self {
            Self::Answered(status) => {
                hasher.write_u8(0);
                hasher.write(&status.to_be_bytes());
            }
            Self::Said(text) => {
                hasher.write_u8(1);
                hasher.write(text.as_bytes());
            }
            Self::TimedOut => hasher.write_u8(2),
            Self::Lost => hasher.write_u8(3),
        }
        hasher.finish()
    }
}

impl Causes {
    /// Causes that are kept at most.
    pub const MOST: usize = 24;

    /// Counts a failure of this cause.
    pub fn count(&mut self, cause: Cause, sighting: Sighting) {
        self.put(cause.hash(), Known { cause, count: 1, first: sighting });
        self.keep_to_bound();
    }

    /// Puts other causes to these.
    pub fn merge(&mut self, other: &Self) {
        for (hash, known) in &other.0 {
            self.put(*hash, known.clone());
        }
        self.keep_to_bound();
    }

    /// The causes that are kept, the most frequent first, with their counts and where each was seen first.
    #[must_use]
    pub fn by_count(&self) -> Vec<(&Cause, u64, Sighting)> {
        let known = self.0.values();
        let mut causes: Vec<_> =
            known.map(|known| (&known.cause, known.count, known.first)).collect();
        causes.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
        causes
    }

    fn put(&mut self, hash: u64, known: Known) {
        match self.0.get_mut(&hash) {
            None => drop(self.0.insert(hash, known)),
            Some(before) => {
                before.count = before.count.saturating_add(known.count);
                before.first = before.first.min(known.first);
                // Of two causes with one hash both orders must keep the same.
                if known.cause < before.cause {
                    before.cause = known.cause;
                }
            }
        }
    }

    fn keep_to_bound(&mut self) {
        while self.0.len() > Self::MOST {
            self.0.pop_last();
        }
    }
}

/// The first line of a text, with words of many digits told as "…": ids, addresses and times differ in
/// failures that are one and the same.
fn without_numbers(text: &str) -> Box<str> {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let word = if digits > 3 { "…" } else { word };
        // A row of numbers is one.
        if word != "…" || words.last() != Some(&"…") {
            words.push(word);
        }
    }
    let told = words.join(" ");
    match told.char_indices().nth(Cause::MAX_TEXT) {
        Some((end, _)) => format!("{}…", &told[..end]).into(),
        None => told.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_from_run_to_run_is_left_out_of_a_cause() {
        for (said, told) in [
            ("no connection to db:5432: refused", "no connection to … refused"),
            ("row 12 of 80 is wrong", "row 12 of 80 is wrong"),
            ("at 2026-11-15T02:10:00Z 0192f0c1-22f0 broke", "at … broke"),
            ("\n  first line\nsecond", "first line"),
            ("", ""),
        ] {
            assert_eq!(&*without_numbers(said), told);
        }
        assert_eq!(without_numbers(&"é ".repeat(1_000)).chars().count(), Cause::MAX_TEXT + 1);
    }
}
