//! Secrets that are handed out: made from the machine's chance, known again by their digest.

use std::fmt;

use axum::http::StatusCode;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chronos_core::account::Digest;
use chronos_core::{KeyId, SessionId, UserId};
use sha2::{Digest as _, Sha256};

use crate::problem::Problem;

/// What an API key begins with.
pub(super) const KEY: &str = "chr_";
/// What the token of this machine begins with.
pub(super) const LOCAL: &str = "chl_";
/// What a refresh token begins with.
const REFRESH: &str = "chs_";

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        let detail = format!("the machine has no random numbers: {error}");
        Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    })?;
    Ok(bytes)
}

/// What is kept of a secret.
pub(super) fn digest(secret: &[u8]) -> Digest {
    Digest::new(Sha256::digest(secret).into())
}

/// A token made of ids and a secret, which is never shown but to whom it is given.
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    fn new(prefix: &str, parts: &[&[u8]]) -> Self {
        Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(parts.concat())))
    }

    /// A refresh token of a session.
    pub(super) fn refresh(user: UserId, session: SessionId, secret: &[u8; 32]) -> Self {
        Self::new(REFRESH, &[user.as_bytes(), session.as_bytes(), secret])
    }

    /// An API key.
    pub(super) fn key(id: KeyId, secret: &[u8; 32]) -> Self {
        Self::new(KEY, &[id.as_bytes(), secret])
    }

    /// The token of this machine.
    pub(super) fn local(secret: &[u8; 32]) -> Self {
        Self::new(LOCAL, &[secret])
    }
}

impl From<String> for Token {
    fn from(token: String) -> Self {
        Self(token)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The user, the session and the secret of a refresh token.
pub(super) fn read_refresh(token: &str) -> Option<(UserId, SessionId, Digest)> {
    let bytes = read(REFRESH, token)?;
    let (user, rest) = bytes.split_first_chunk::<16>()?;
    let (session, secret) = rest.split_first_chunk::<16>()?;
    let secret: &[u8; 32] = secret.try_into().ok()?;
    Some((UserId::from_bytes(*user), SessionId::from_bytes(*session), digest(secret)))
}

/// The id and the secret of an API key.
pub(super) fn read_key(token: &str) -> Option<(KeyId, Digest)> {
    let bytes = read(KEY, token)?;
    let (id, secret) = bytes.split_first_chunk::<16>()?;
    let secret: &[u8; 32] = secret.try_into().ok()?;
    Some((KeyId::from_bytes(*id), digest(secret)))
}

/// The secret of a token of this machine.
pub(super) fn read_local(token: &str) -> Option<Digest> {
    let secret: [u8; 32] = read(LOCAL, token)?.try_into().ok()?;
    Some(digest(&secret))
}

fn read(prefix: &str, token: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(token.strip_prefix(prefix)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_again_and_nothing_else_is() {
        let (user, session) = (UserId::from_bytes([1; 16]), SessionId::from_bytes([2; 16]));
        let token = Token::refresh(user, session, &[3; 32]);
        let (read_user, read_session, read_digest) = read_refresh(token.expose()).unwrap();
        assert_eq!((read_user, read_session), (user, session));
        assert!(read_digest.matches(&digest(&[3; 32])));
        let key = Token::key(KeyId::from_bytes([4; 16]), &[5; 32]);
        assert!(key.expose().starts_with("chr_"));
        assert!(read_key(key.expose()).is_some_and(|(_, it)| it.matches(&digest(&[5; 32]))));
        let local = Token::local(&[6; 32]);
        for (wrong, text) in [
            ("another kind", token.expose().to_owned()),
            ("another kind", local.expose().to_owned()),
            ("cut short", key.expose()[..key.expose().len() - 1].to_owned()),
            ("too long", format!("{}AAAA", key.expose())),
            ("not of its alphabet", format!("{}+", key.expose())),
            ("nothing but its kind", KEY.to_owned()),
        ] {
            assert!(read_key(&text).is_none(), "{wrong}");
        }
        assert_eq!(format!("{key:?}"), "Token(..)");
    }
}
