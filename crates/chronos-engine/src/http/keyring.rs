//! Keyrings: whoever can seal a secret of a job, and open it when it is sent.

use std::fmt::Debug;

use chronos_core::JobId;
use chronos_core::http::Sealed;

/// Which secret of a job, or of a subscription, it is: one that is put in the place of another cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// The value of the header of this name.
    Header(&'a str),
    /// What requests are signed with.
    Signing,
    /// The value of the header of this name of the webhook for notices.
    NoticeHeader(&'a str),
    /// What notices are signed with.
    NoticeSigning,
    /// The value of the header of this name of a subscription, whose id stands in the place of a job's.
    PushHeader(&'a str),
    /// What a subscription's events are signed with.
    PushSigning,
}

/// Seals secrets, and opens what it sealed.
pub trait Keyring: Debug + Send + Sync {
    /// The secret of this job, so that only the same key opens it, for the same job and purpose.
    fn seal(&self, job: JobId, purpose: Purpose<'_>, secret: &str) -> Result<Sealed, KeyError>;

    /// What was sealed for this job and purpose.
    fn open(&self, job: JobId, purpose: Purpose<'_>, sealed: &Sealed) -> Result<String, KeyError>;
}

/// Why a secret cannot be sealed or opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no key here.
    #[error("this node has no key for secrets; give it a secret_key_file")]
    NoKey,
    /// It was sealed with another key.
    #[error(
        "it was sealed with the key {sealed_with}, and this node has {own}; give every node the same \
         secret_key_file, or set the secret anew"
    )]
    OtherKey {
        /// Names the key that sealed it.
        sealed_with: String,
        /// Names the key that is here.
        own: String,
    },
    /// It was changed, or it belongs to another job.
    #[error("it is damaged, or was sealed for another job; set it anew")]
    Damaged,
    /// The machine has no randomness to give.
    #[error("the machine gives no random bytes")]
    NoRandomness,
}
