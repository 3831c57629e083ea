//! The keys of a daemon: one that seals, and those before it, which still open what they sealed.

use chronos_core::JobId;
use chronos_core::http::Sealed;
use chronos_engine::http::{KeyError, Keyring, Purpose};

use super::key::{Key, key_of};

/// The key that seals, and those that are on their way out.
#[derive(Debug)]
pub(crate) struct Keys {
    current: Key,
    old: Vec<Key>,
}

impl Keys {
    pub(crate) fn new(current: Key, old: Vec<Key>) -> Self {
        Self { current, old }
    }

    /// The name of the key that seals.
    pub(crate) fn id(&self) -> &str {
        self.current.id()
    }

    /// Whether some key is on its way out.
    pub(crate) fn are_changing(&self) -> bool {
        !self.old.is_empty()
    }

    /// What the key that seals now makes of a secret that another sealed; nothing if it sealed it itself.
    pub(crate) fn reseal(
        &self,
        job: JobId,
        purpose: Purpose<'_>,
        sealed: &Sealed,
    ) -> Result<Option<Sealed>, KeyError> {
        if key_of(sealed) == Some(self.current.id()) {
            return Ok(None);
        }
        let secret = self.open(job, purpose, sealed)?;
        self.seal(job, purpose, &secret).map(Some)
    }
}

impl Keyring for Keys {
    fn seal(&self, job: JobId, purpose: Purpose<'_>, secret: &str) -> Result<Sealed, KeyError> {
        self.current.seal(job, purpose, secret)
    }

    fn open(&self, job: JobId, purpose: Purpose<'_>, sealed: &Sealed) -> Result<String, KeyError> {
        let sealed_with = key_of(sealed);
        let known = self.old.iter().find(|key| Some(key.id()) == sealed_with);
        known.unwrap_or(&self.current).open(job, purpose, sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId::from_bytes([1; 16]);
    const SIGNING: Purpose<'_> = Purpose::Signing;

    #[test]
    fn what_an_old_key_sealed_opens_and_is_sealed_by_the_new_one() {
        let (first, second) = (Key::random().unwrap(), Key::random().unwrap());
        let sealed = first.seal(JOB, SIGNING, "hunter2").unwrap();
        let keys = Keys::new(second, vec![first]);
        assert_eq!(keys.open(JOB, SIGNING, &sealed), Ok("hunter2".into()));
        let again = keys.reseal(JOB, SIGNING, &sealed).unwrap().unwrap();
        assert_eq!(keys.current.open(JOB, SIGNING, &again), Ok("hunter2".into()));
        assert_eq!(keys.reseal(JOB, SIGNING, &again), Ok(None), "it is done");
        assert_eq!(keys.reseal(JOB, Purpose::NoticeSigning, &sealed), Err(KeyError::Damaged));
        let alone = Keys::new(keys.current, Vec::new());
        let unknown = alone.open(JOB, SIGNING, &sealed).unwrap_err();
        assert!(matches!(unknown, KeyError::OtherKey { .. }), "{unknown}");
    }
}
