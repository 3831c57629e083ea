//! Private files: the key that signs tokens, and the token of whoever runs the daemon.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tempfile::NamedTempFile;

use super::secret::{self, Token};

/// The key in the data directory, unless another is named.
const KEY: &str = "auth.key";
/// The token in the data directory.
const LOCAL: &str = "local.token";
/// Bytes that a key must have.
const SHORTEST_KEY: usize = 32;
const LONGEST_FILE: u64 = 4_096;

/// Why a private file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{field}: {} {problem}", .path.display())]
pub struct Error {
    /// What the file is for.
    field: &'static str,
    /// The file.
    path: PathBuf,
    /// What is wrong with it, and what to do.
    problem: String,
}

/// The key that signs tokens: from the file that is named, else from the directory, where it is made
/// if there is none. Without either it ends with the process.
pub(super) fn key(named: Option<&Path>, directory: Option<&Path>) -> Result<Vec<u8>, Error> {
    let path = match (named, directory) {
        (Some(named), _) => named.to_owned(),
        (None, Some(directory)) => directory.join(KEY),
        (None, None) => return random("the key").map(Into::into),
    };
    let refused = |problem: String| Error { field: "auth_key_file", path: path.clone(), problem };
    match read(&path) {
        Ok(key) if key.len() < SHORTEST_KEY => {
            Err(refused(format!("holds fewer than {SHORTEST_KEY} bytes; make it longer")))
        }
        Ok(key) => Ok(key.into_bytes()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
            let key = URL_SAFE_NO_PAD.encode(random("the key")?);
            write(&path, &key).map_err(|error| refused(format!("cannot be written: {error}")))?;
            Ok(key.into_bytes())
        }
        Err(error) => Err(refused(format!("cannot be read: {error}"))),
    }
}

/// Makes the directory, unless it is there: a node on a shared database keeps nothing else in it.
pub(super) fn make(directory: &Path) -> Result<(), Error> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| {
        let problem = format!("cannot be made: {error}");
        Error { field: "data_dir", path: directory.into(), problem }
    })
}

/// Puts a new token into the directory for whoever can read it, with the address that it is for.
pub(super) fn write_local(directory: &Path, address: SocketAddr) -> Result<[u8; 32], Error> {
    let secret = random("the token")?;
    let path = directory.join(LOCAL);
    let text = format!("{address}\n{}\n", Token::local(&secret).expose());
    write(&path, &text).map_err(|error| {
        let problem = format!("cannot be written: {error}");
        Error { field: "data_dir", path: path.clone(), problem }
    })?;
    Ok(secret)
}

/// The token that a daemon put into the directory, if it answers on this port.
pub(crate) fn read_local(directory: &Path, port: u16) -> Option<String> {
    let text = read(&directory.join(LOCAL)).ok()?;
    let (address, token) = text.split_once('\n')?;
    let address: SocketAddr = address.parse().ok()?;
    // A token goes to the daemon that made it, and to nobody who took its place.
    (address.port() == port && token.starts_with(secret::LOCAL)).then(|| token.trim().into())
}

/// The text of a file that nobody else may read; refused if others may.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let problem = format!("others may read it (mode {mode:o}); run chmod go-rwx on it");
        return Err(io::Error::other(problem));
    }
    if about.len() > LONGEST_FILE {
        return Err(io::Error::other(format!("it is longer than {LONGEST_FILE} bytes")));
    }
    Ok(io::read_to_string(file)?.trim().to_owned())
}

/// Writes a file that nobody else may read, whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory)?;
    file.as_file().set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    fs::File::open(directory)?.sync_all()
}

fn random(what: &'static str) -> Result<[u8; 32], Error> {
    secret::random().map_err(|_| Error {
        field: what,
        path: PathBuf::new(),
        problem: "cannot be made: the machine has no random numbers".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_read_by_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let made = key(None, Some(directory.path())).unwrap();
        assert!(made.len() >= 32);
        assert_eq!(key(None, Some(directory.path())).unwrap(), made);
        let path = directory.path().join(KEY);
        let permissions = fs::metadata(&path).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let refused = key(None, Some(directory.path())).unwrap_err().to_string();
        assert!(refused.contains("others may read it (mode 640); run chmod go-rwx"), "{refused}");
        assert_ne!(key(None, None).unwrap(), key(None, None).unwrap());
    }

    #[test]
    fn a_key_that_is_named_must_be_there_and_long_enough() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shared.key");
        let refused = key(Some(&path), Some(directory.path())).unwrap_err().to_string();
        assert!(refused.starts_with("auth_key_file: "), "{refused}");
        write(&path, "secret").unwrap();
        let refused = key(Some(&path), None).unwrap_err().to_string();
        assert!(refused.contains("fewer than 32 bytes"), "{refused}");
        write(&path, &"k".repeat(32)).unwrap();
        assert_eq!(key(Some(&path), None).unwrap(), vec![b'k'; 32]);
    }

    #[test]
    fn a_local_token_is_for_the_port_of_its_daemon() {
        let directory = tempfile::tempdir().unwrap();
        let secret = write_local(directory.path(), "127.0.0.1:8080".parse().unwrap()).unwrap();
        let token = read_local(directory.path(), 8080).unwrap();
        assert_eq!(token, Token::local(&secret).expose());
        assert_eq!(read_local(directory.path(), 8081), None);
        assert_eq!(read_local(&directory.path().join("nowhere"), 8080), None);
    }
}
