//! Whom a command asks as: a token that was given, a login that is kept, or that of this machine.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use chronos_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::transport::Uri;
use tonic::{Request, Status};

use super::rest::Rest;
use crate::auth::{read_local, write_private};
use crate::cli::Error;
use crate::{clock, config};

/// A token that ends sooner than this is exchanged for the next.
const SOON: Duration = Duration::from_secs(30);

/// A token, which is shown to its daemon alone.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_one = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_one.then(|| Self(text.into())).ok_or("it is no token; use one from chronos keys create")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Goes before every call.
#[derive(Clone, Debug, Default)]
pub(super) struct Bearer(pub(super) Option<Token>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            let value = MetadataValue::try_from(format!("Bearer {}", token.expose()));
            let mut value = value.map_err(|_| Status::internal("the token is no text"))?;
            value.set_sensitive(true);
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}

/// The token that a daemon on this machine left for whoever can read it.
pub(super) fn local(server: &str, data_dir: Option<&Path>) -> Option<Token> {
    let uri: Uri = server.parse().ok()?;
    let host = uri.host()?.trim_matches(['[', ']']);
    let is_here = host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let directory = data_dir.map_or_else(config::data_dir, ToOwned::to_owned);
    let token = read_local(&directory, uri.port_u16().unwrap_or(80)).filter(|_| is_here)?;
    Some(Token(token))
}

/// A login that is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Login {
    username: String,
    token: Token,
    expires_at: Timestamp,
    refresh_token: Token,
}

impl Login {
    fn read(told: &Value) -> Result<Self, Error> {
        let mut told = told.clone();
        told["username"] = told["user"]["username"].take();
        serde_json::from_value(told)
            .map_err(|error| Error::Daemon(format!("the daemon's answer is not one: {error}")))
    }
}

/// The logins of this user, by the address of their daemon; kept by one command at a time.
pub(super) struct Logins {
    path: PathBuf,
    kept: BTreeMap<String, Login>,
    #[expect(dead_code, reason = "others wait until it is dropped")]
    lock: Option<File>,
}

impl Logins {
    /// Reads those that are kept; none if there is no place for them.
    pub(super) fn open() -> Result<Self, Error> {
        let path = directory().join("credentials.json");
        let lock = File::open(path.with_extension("lock")).ok();
        if let Some(lock) = &lock {
            lock.lock().map_err(|error| refused(&path, &error))?;
        }
        let kept = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| refused(&path, &error))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(refused(&path, &error)),
        };
        Ok(Self { path, kept, lock })
    }

    /// The same, with a place for them.
    pub(super) fn make() -> Result<Self, Error> {
        let directory = directory();
        let refused = |error: io::Error| refused(&directory, &error);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(refused)?;
        let lock = directory.join("credentials.lock");
        File::options().create(true).append(true).open(&lock).map_err(refused)?;
        Self::open()
    }

    /// Keeps what the daemon told at a login.
    pub(super) fn keep(&mut self, server: &str, told: &Value) -> Result<String, Error> {
        let login = Login::read(told)?;
        let username = login.username.clone();
        self.kept.insert(server.into(), login);
        self.write()?;
        Ok(username)
    }

    /// Forgets the login at this daemon; says whether there was one.
    pub(super) fn forget(&mut self, server: &str) -> Result<bool, Error> {
        let was_there = self.kept.remove(server).is_some();
        if was_there {
            self.write()?;
        }
        Ok(was_there)
    }

    /// The token that is good now, after an exchange if need be.
    pub(super) async fn token(&mut self, rest: &Rest) -> Result<Option<Token>, Error> {
        let server = rest.address.clone();
        let Some(login) = self.kept.get(&server) else {
            return Ok(None);
        };
        if login.expires_at > clock::now().after(SOON) {
            return Ok(Some(login.token.clone()));
        }
        let body = json!({"refresh_token": login.refresh_token.expose()});
        match rest.post("/auth/refresh", &body).await {
            Ok(told) => {
                self.keep(&server, &told)?;
                Ok(self.kept.get(&server).map(|login| login.token.clone()))
            }
            Err(Error::Denied(_)) => {
                let problem = format!("the login at {server} is over; run chronos login again");
                self.forget(&server)?;
                Err(Error::Denied(problem))
            }
            Err(error) => Err(error),
        }
    }

    fn write(&self) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(&self.kept).unwrap_or_default();
        write_private(&self.path, &text).map_err(|error| refused(&self.path, &error))
    }
}

fn refused(path: &Path, error: &dyn fmt::Display) -> Error {
    Error::File { path: path.into(), problem: error.to_string() }
}

/// Where this user's settings are, as the XDG specification has it.
fn directory() -> PathBuf {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let settings = absolute("XDG_CONFIG_HOME");
    let settings = settings.or_else(|| absolute("HOME").map(|home| home.join(".config")));
    settings.unwrap_or_else(|| PathBuf::from("/etc")).join("chronos")
}
