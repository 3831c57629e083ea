//! Faults of the database, and what can be done about each.

use chronos_core::store::Error;
use sqlx::error::DatabaseError;

/// Why a step did not come to its end.
#[derive(Debug)]
pub(super) enum Fault {
    /// This is the answer.
    Answer(Error),
    /// Nothing happened, and the same step may well succeed at once.
    Again(String),
    /// The server did not answer in time; what became of the step is not known.
    Silence(String),
    /// The partition of this day is not there yet.
    NoPartition,
    /// A constraint refused what was written.
    Refused(String),
}

pub(super) type Outcome<T> = std::result::Result<T, Fault>;

impl Fault {
    /// The fault as whoever called the verb is told.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Answer(error) => error,
            Self::Again(text) => Error::Unavailable(format!("gave up after many tries: {text}")),
            Self::Silence(text) => Error::Unavailable(text),
            Self::NoPartition => Error::Unavailable("a partition is missing".into()),
            Self::Refused(constraint) => {
                Error::Corrupt(format!("the database refused a row by {constraint}"))
            }
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Answer(error)
    }
}

impl From<chronos_core::Error> for Fault {
    fn from(error: chronos_core::Error) -> Self {
        Self::Answer(error.into())
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => classify(database.as_ref()),
            _ => Self::Answer(Error::Unavailable(error.to_string())),
        }
    }
}

fn classify(error: &dyn DatabaseError) -> Fault {
    let code = error.code().unwrap_or_default();
    let text = format!("{} ({code})", error.message());
    match &*code {
        // Serialization failure, deadlock, lock not available.
        "40001" | "40P01" | "55P03" => Fault::Again(text),
        // A row for which no partition exists is reported as a violated check.
        "23514" if error.constraint().is_none() => Fault::NoPartition,
        "23502" | "23503" | "23505" | "23514" | "23P01" => {
            Fault::Refused(error.constraint().unwrap_or("a constraint").to_owned())
        }
        // What cannot be written or read as it is will not get better by waiting.
        code if code.starts_with("22") || code.starts_with("42") => {
            Fault::Answer(Error::Corrupt(text))
        }
        // Connections that break, servers that stop, start or have no room, statements that take too
        // long, disks that are full, databases that only read.
        _ => Fault::Answer(Error::Unavailable(text)),
    }
}
