//! Records of the embedded store: values in a compact encoding, each led by its version.

use std::cell::RefCell;

use chronos_core::store::{Error, Result};
use chronos_core::{Execution, JobId, Standing, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::due::Turn;
use super::volumes::Volume;

/// The encoding; a change to a stored type adds one and, once there was a release, keeps reading the
/// older.
const VERSION: u8 = 7;

thread_local! {
    /// Where records are written first, so that each is allocated once, in its final size.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The bytes of a record.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Box<[u8]>> {
    let mut scratch = SCRATCH.take();
    loop {
        let Some((version, body)) = scratch.split_first_mut() else {
            scratch.resize(1_024, 0);
            continue;
        };
        *version = VERSION;
        match postcard::to_slice(value, body) {
            Ok(body) => {
                let length = 1 + body.len();
                let bytes = scratch[..length].into();
                SCRATCH.set(scratch);
                return Ok(bytes);
            }
            Err(postcard::Error::SerializeBufferFull) => scratch.resize(scratch.len() * 2, 0),
            Err(error) => return Err(Error::Corrupt(format!("cannot write a record: {error}"))),
        }
    }
}

/// The record that these bytes are.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let body = body(bytes)?;
    postcard::from_bytes(body).map_err(|error| unreadable(&error))
}

/// The beginning of the record that these bytes are.
pub(super) fn decode_head<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    let body = body(bytes)?;
    postcard::take_from_bytes(body).map(|(head, _)| head).map_err(|error| unreadable(&error))
}

fn body(bytes: &[u8]) -> Result<&[u8]> {
    let (version, body) =
        bytes.split_first().ok_or_else(|| Error::Corrupt("a record is empty".into()))?;
    if *version != VERSION {
        let text = format!("a record has version {version}, this program reads {VERSION}");
        return Err(Error::Corrupt(text));
    }
    Ok(body)
}

fn unreadable(error: &postcard::Error) -> Error {
    Error::Corrupt(format!("a record cannot be read: {error}"))
}

/// A job's standing with what the store itself needs to know beside it.
///
/// Most jobs have one live execution at most, and every step that changes it changes the standing
/// too: so the first one lives here, and only further ones have records of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StandingRecord<S = Standing, E = Execution> {
    pub(super) place: Place,
    /// Where the job stands.
    pub(super) standing: S,
    /// An execution that waits or runs.
    pub(super) live: Option<E>,
}

/// What the store itself needs to know of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// When the job is due; kept so that a start need not read every spec.
    pub(super) due: Option<Timestamp>,
    /// Whether the job is one of the crowd.
    pub(super) crowd: bool,
    /// How many past executions of the job are kept.
    pub(super) kept: u32,
    /// The first and the last volume that may hold some of them.
    pub(super) volumes: Option<(Volume, Volume)>,
}

impl Place {
    /// The job's turn among those that are due, if it is due at all.
    pub(super) fn turn(&self, job: JobId) -> Option<Turn> {
        self.due.map(|at| Turn { at, job, crowd: self.crowd })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_another_version_and_damaged_ones_are_refused() {
        let bytes = encode(&42_u64).unwrap();
        assert_eq!(decode::<u64>(&bytes), Ok(42));
        let mut newer = bytes.to_vec();
        newer[0] = VERSION + 1;
        assert!(decode::<u64>(&newer).unwrap_err().to_string().contains("version 8"));
        assert!(decode::<u64>(&bytes[..1]).is_err());
        assert!(decode::<u64>(&[]).is_err());
    }
}
