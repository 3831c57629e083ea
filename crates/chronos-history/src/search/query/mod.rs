//! The query language: words, phrases and fields, any of them negated.
//!
//! ```
//! use chronos_core::schedule::Zone;
//! use chronos_history::search::Query;
//!
//! let text = r#"job:invoice status:failed "connection reset" -staging after:2026-11-01"#;
//! assert!(Query::parse(text, Zone::UTC).is_ok());
//!
//! let error = Query::parse("state:failed", Zone::UTC).unwrap_err();
//! assert!(error.to_string().starts_with(r#"unknown field "state" at character 1"#));
//! ```

mod error;
mod field;
mod lex;
mod time;

use chronos_core::audit::Decision;
use chronos_core::schedule::Zone;
use chronos_core::{JobId, Timestamp};

use super::document::Kind;
use super::reading::type_of;
use super::schema::words_of;
use crate::Level;
pub use error::QueryError;
pub use field::Field;
use lex::{Piece, pieces};
pub(super) use time::first_at_or_after;

/// Characters of a query at most.
pub const MAX_CHARS: usize = 1_000;
/// Words, phrases and fields of a query at most.
pub const MAX_CLAUSES: usize = 32;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// All of it is asked for; of clauses of one field, any.
    pub(super) clauses: Vec<Clause>,
    /// Not before then.
    pub(super) after: Option<Timestamp>,
    /// Before then.
    pub(super) before: Option<Timestamp>,
}

/// One thing that is asked for, or that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clause {
    pub(super) negated: bool,
    pub(super) what: What,
}

/// What a clause asks for. Words are as they are indexed, and never none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Words that follow each other, anywhere.
    Words(Vec<String>),
    /// The job of this id.
    Job(JobId),
    /// A job whose name has these words.
    JobNamed(Vec<String>),
    /// A node whose name has these words.
    Node(Vec<String>),
    Status(&'static str),
    Owner(Box<str>),
    /// Any of these types.
    Type(Vec<&'static str>),
    Reason(Box<str>),
    Kind(Kind),
}

impl Query {
    /// Reads a query; its days and times are those of the zone.
    pub fn parse(text: &str, zone: Zone) -> Result<Self, QueryError> {
        let given = text.chars().count();
        if given > MAX_CHARS {
            return Err(QueryError::TooLong { given });
        }
        let mut query = Self::default();
        for (count, piece) in pieces(text)?.into_iter().enumerate() {
            if count == MAX_CLAUSES {
                return Err(QueryError::TooMany { at: piece.at });
            }
            query.take(piece, zone)?;
        }
        Ok(query)
    }

    fn take(&mut self, piece: Piece, zone: Zone) -> Result<(), QueryError> {
        let Piece { at, negated, field, value } = piece;
        let what = match field {
            None => {
                let words = words_of(&value);
                if words.is_empty() {
                    return Err(QueryError::NoWord { at, given: shortened(&value) });
                }
                What::Words(words)
            }
            Some(field @ (Field::After | Field::Before)) => {
                return self.bound(at, negated, field, &value, zone);
            }
            Some(field) => {
                let bad = || QueryError::BadValue { at, field, given: shortened(&value) };
                what_of(field, &value).ok_or_else(bad)?
            }
        };
        self.clauses.push(Clause { negated, what });
        Ok(())
    }

    fn bound(
        &mut self,
        at: usize,
        negated: bool,
        field: Field,
        value: &str,
        zone: Zone,
    ) -> Result<(), QueryError> {
        if negated {
            let instead = if field == Field::After { Field::Before } else { Field::After };
            return Err(QueryError::Bound { at, field, instead });
        }
        let bad = || QueryError::BadValue { at, field, given: shortened(value) };
        let instant = time::instant(value, zone).ok_or_else(bad)?;
        // All of it is asked for, so the narrowest holds.
        if field == Field::After {
            self.after = Some(self.after.map_or(instant, |after| after.max(instant)));
        } else {
            self.before = Some(self.before.map_or(instant, |before| before.min(instant)));
        }
        Ok(())
    }

    /// The words that are looked for, as they are indexed.
    pub(super) fn sought(&self) -> impl Iterator<Item = &str> {
        let words = self.clauses.iter().filter(|clause| !clause.negated);
        words
            .filter_map(|clause| match &clause.what {
                What::Words(words) | What::JobNamed(words) => Some(words),
                _ => None,
            })
            .flatten()
            .map(String::as_str)
    }

    /// Whether some of what it finds may fit better than the rest.
    pub(super) fn is_graded(&self) -> bool {
        let mut clauses = self.clauses.iter();
        clauses.any(|clause| !clause.negated && matches!(clause.what, What::Words(_)))
    }
}

/// What a field other than a bound in time asks for.
fn what_of(field: Field, value: &str) -> Option<What> {
    let lower = value.to_lowercase();
    let some_words = || Some(words_of(value)).filter(|words| !words.is_empty());
    match field {
        Field::Job => match value.parse() {
            Ok(job) => Some(What::Job(job)),
            Err(_) => some_words().map(What::JobNamed),
        },
        Field::Node => some_words().map(What::Node),
        Field::Status => {
            Field::STATUSES.into_iter().find(|status| *status == lower).map(What::Status)
        }
        Field::Owner => Some(What::Owner(value.into())),
        Field::Type => {
            let asked = |kind: &str| {
                kind == lower || kind.split_once('.').is_some_and(|(family, _)| family == lower)
            };
            let known = Decision::KINDS.into_iter().chain([Kind::Message.as_str()]);
            let known = known.chain(Level::ALL.map(type_of));
            let types: Vec<_> = known.filter(|kind| asked(kind)).collect();
            (!types.is_empty()).then_some(What::Type(types))
        }
        Field::Reason => Some(What::Reason(lower.into())),
        Field::Kind => Kind::ALL.into_iter().find(|kind| kind.as_str() == lower).map(What::Kind),
        Field::After | Field::Before => None,
    }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
