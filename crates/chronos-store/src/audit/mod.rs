//! The audit as every store keeps it: the decisions of a step in one record, and digests of many of them.

mod digest;
mod look;
mod record;

#[cfg(feature = "postgres")]
pub(crate) use digest::Wanted;
pub(crate) use digest::{Digest, SIZE, chapter_of};
pub(crate) use look::{Look, Stretch};
pub(crate) use record::{decode, encode};
