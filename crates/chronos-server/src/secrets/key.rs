//! The key that seals secrets: kept in a file outside the store, so that neither alone tells anything.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::JobId;
use chronos_core::http::Sealed;
use chronos_engine::http::{KeyError, Keyring, Purpose};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::auth::read_private;

const KEY_BYTES: usize = 32;
/// What everything sealed begins with; another way of sealing has another beginning.
const VERSION: &str = "v1";

/// A key for ChaCha20-Poly1305. What it seals says which key it was, and opens for one job and
/// purpose alone.
pub(crate) struct Key {
    key: LessSafeKey,
    /// Tells keys apart without telling them.
    id: String,
}

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[error("{key}: cannot use {}: {problem}", .path.display())]
pub struct KeyFileError {
    /// Where the configuration names it.
    key: &'static str,
    path: PathBuf,
    problem: String,
}

impl Key {
    /// A key that is kept nowhere.
    pub(crate) fn random() -> Result<Self, KeyError> {
        Self::of(&random_bytes::<KEY_BYTES>()?).ok_or(KeyError::NoRandomness)
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).ok()?;
        let id = digest(&SHA256, bytes)
            .as_ref()
            .iter()
            .take(4)
            .fold(String::new(), |id, byte| format!("{id}{byte:02x}"));
        Some(Self { key: LessSafeKey::new(key), id })
    }

    /// The key in a file that someone else made.
    pub(crate) fn load(path: &Path) -> Result<Self, KeyFileError> {
        Self::read("secret_key_file", path)
    }

    /// The key in a file, whose place another key takes.
    pub(crate) fn load_old(path: &Path) -> Result<Self, KeyFileError> {
        Self::read("old_secret_key_files", path)
    }

    fn read(key: &'static str, path: &Path) -> Result<Self, KeyFileError> {
        let refused = |problem: String| KeyFileError { key, path: path.into(), problem };
        let accepted = "32 random bytes in base64, as head -c 32 /dev/urandom | base64 prints them";
        let text = read_private(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused(format!("{error}; make it hold {accepted}")),
            _ => refused(error.to_string()),
        })?;
        let bytes = STANDARD.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY_BYTES);
        let found = bytes.as_deref().and_then(Self::of);
        found.ok_or_else(|| refused(format!("it does not hold {accepted}")))
    }

    /// The key in this file, which is made if it is not there.
    pub(crate) fn load_or_make(path: &Path) -> Result<Self, KeyFileError> {
        if !path.exists() {
            let refused =
                |problem| KeyFileError { key: "secret_key_file", path: path.into(), problem };
            let bytes = random_bytes::<KEY_BYTES>().map_err(|error| refused(error.to_string()))?;
            let made = make(path, &format!("{}\n", STANDARD.encode(bytes)));
            made.map_err(|error| refused(error.to_string()))?;
        }
        Self::load(path)
    }

    /// What the key is called.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

/// Writes a file for its owner alone, whole or not at all.
fn make(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("key.new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

/// The name of the key that sealed it.
pub(super) fn key_of(sealed: &Sealed) -> Option<&str> {
    sealed.as_str().split('.').nth(1)
}

impl Keyring for Key {
    fn seal(&self, job: JobId, purpose: Purpose<'_>, secret: &str) -> Result<Sealed, KeyError> {
        let nonce = random_bytes::<NONCE_LEN>()?;
        let mut bytes = secret.as_bytes().to_vec();
        let bound = Aad::from(bound_to(job, purpose));
        let nonce_of = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce_of, bound, &mut bytes);
        let tag = tag.map_err(|_| KeyError::NoRandomness)?;
        let whole = [&nonce[..], &bytes, tag.as_ref()].concat();
        Ok(Sealed::new(&format!("{VERSION}.{}.{}", self.id, STANDARD.encode(whole))))
    }

    fn open(&self, job: JobId, purpose: Purpose<'_>, sealed: &Sealed) -> Result<String, KeyError> {
        let mut parts = sealed.as_str().splitn(3, '.');
        let (Some(VERSION), Some(id), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(KeyError::Damaged);
        };
        if id != self.id {
            let sealed_with = id.chars().take(16).collect();
            return Err(KeyError::OtherKey { sealed_with, own: self.id.clone() });
        }
        let whole = STANDARD.decode(text).map_err(|_| KeyError::Damaged)?;
        let (nonce, bytes) = whole.split_at_checked(NONCE_LEN).ok_or(KeyError::Damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| KeyError::Damaged)?;
        let mut bytes = bytes.to_vec();
        let opened = self.key.open_in_place(nonce, Aad::from(bound_to(job, purpose)), &mut bytes);
        let opened = opened.map_err(|_| KeyError::Damaged)?;
        String::from_utf8(opened.to_vec()).map_err(|_| KeyError::Damaged)
    }
}

/// What a sealed value is bound to: moved to anything else, it does not open.
fn bound_to(job: JobId, purpose: Purpose<'_>) -> Vec<u8> {
    let purpose = match purpose {
        Purpose::Header(name) => format!("header {}", name.to_ascii_lowercase()),
        Purpose::Signing => "signing".into(),
        Purpose::NoticeHeader(name) => format!("notice header {}", name.to_ascii_lowercase()),
        Purpose::NoticeSigning => "notice signing".into(),
        Purpose::PushHeader(name) => format!("push header {}", name.to_ascii_lowercase()),
        Purpose::PushSigning => "push signing".into(),
    };
    format!("chronos {VERSION} {job} {purpose}").into_bytes()
}

fn random_bytes<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::NoRandomness)?;
    Ok(bytes)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const JOB: JobId = JobId::from_bytes([1; 16]);
    const HEADER: Purpose<'_> = Purpose::Header("Authorization");

    #[test]
    fn what_was_sealed_opens_for_its_job_and_purpose_alone() {
        let key = Key::random().unwrap();
        let sealed = key.seal(JOB, HEADER, "hunter2").unwrap();
        assert!(!sealed.as_str().contains("hunter2"));
        assert_ne!(sealed, key.seal(JOB, HEADER, "hunter2").unwrap());
        assert_eq!(key.open(JOB, HEADER, &sealed), Ok("hunter2".into()));
        assert_eq!(key.open(JOB, Purpose::Header("AUTHORIZATION"), &sealed), Ok("hunter2".into()));
        let other = JobId::from_bytes([2; 16]);
        for (job, purpose) in [
            (other, HEADER),
            (JOB, Purpose::Header("X")),
            (JOB, Purpose::Signing),
            (JOB, Purpose::NoticeHeader("Authorization")),
            (JOB, Purpose::PushHeader("Authorization")),
        ] {
            assert_eq!(key.open(job, purpose, &sealed), Err(KeyError::Damaged));
        }
    }

    #[test]
    fn another_key_is_told_from_damage() {
        let (key, other) = (Key::random().unwrap(), Key::random().unwrap());
        let sealed = key.seal(JOB, HEADER, "hunter2").unwrap();
        let (sealed_with, own) = (key.id().to_owned(), other.id().to_owned());
        assert_eq!(other.open(JOB, HEADER, &sealed), Err(KeyError::OtherKey { sealed_with, own }));
        let text = sealed.as_str();
        let last = if text.ends_with('A') { "B" } else { "A" };
        for damaged in ["", "v1", "v1.", "v2.a.b", &text[..text.len() - 8]] {
            let opened = key.open(JOB, HEADER, &Sealed::new(damaged));
            assert!(opened.is_err(), "{damaged}");
        }
        let middle = text.len() / 2;
        let turned = format!("{}{last}{}", &text[..middle], &text[middle + 1..]);
        assert_eq!(key.open(JOB, HEADER, &Sealed::new(&turned)).is_ok(), turned == text);
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret.key");
        let made = Key::load_or_make(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Key::load_or_make(&path).unwrap();
        let sealed = made.seal(JOB, HEADER, "hunter2").unwrap();
        assert_eq!(again.open(JOB, HEADER, &sealed), Ok("hunter2".into()));
        assert!(!format!("{made:?}").contains(fs::read_to_string(&path).unwrap().trim()));
        for text in ["", "c2hvcnQ=", "not base64 at all"] {
            fs::write(&path, text).unwrap();
            let refused = Key::load_or_make(&path).unwrap_err().to_string();
            assert!(refused.contains("head -c 32 /dev/urandom | base64"), "{refused}");
        }
        let nowhere = Key::load(&directory.path().join("nothing")).unwrap_err().to_string();
        assert!(nowhere.starts_with("secret_key_file: cannot use "), "{nowhere}");
    }
}
