//! Access tokens: JSON web tokens of one algorithm, one key and one form.

use std::collections::HashSet;
use std::time::Duration;

use chronos_core::account::User;
use chronos_core::{SessionId, Timestamp, UserId};
use jsonwebtoken::errors::Error;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};

use super::provider;

/// How long an access token is good.
pub(super) const GOOD_FOR: Duration = Duration::from_mins(15);
/// How far the clocks of two nodes may be apart.
const LEEWAY: Duration = Duration::from_secs(5);
/// Who makes the tokens, and who takes them.
const PARTY: &str = "chronos";
/// The first part of every token: `{"typ":"JWT","alg":"HS256"}`. A token with any other header, be it
/// another algorithm, a key of its own or a critical extension, is none of ours.
const HEADER: &str = "eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9";

/// What a token says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    /// The session.
    sid: String,
    /// The user's generation.
    generation: u64,
    iat: i64,
    nbf: i64,
    exp: i64,
}

/// Whom a token speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) user: UserId,
    pub(super) session: SessionId,
    pub(super) generation: u64,
}

/// Makes tokens, and knows them again.
pub(super) struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
}

impl Tokens {
    pub(super) fn new(key: &[u8]) -> Self {
        provider::install();
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_audience(&[PARTY]);
        validation.set_issuer(&[PARTY]);
        let required = ["exp", "nbf", "aud", "iss", "sub"].map(String::from);
        validation.required_spec_claims = HashSet::from(required);
        // Checked below, by the clock that everything here goes by.
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        Self {
            encoding: EncodingKey::from_secret(key),
            decoding: DecodingKey::from_secret(key),
            validation,
        }
    }

    /// A token of this user's session, and when it ends.
    pub(super) fn make(
        &self,
        user: &User,
        session: SessionId,
        now: Timestamp,
    ) -> Result<(String, Timestamp), Error> {
        let end = Timestamp::from_secs(now.after(GOOD_FOR).as_secs());
        let claims = Claims {
            iss: PARTY.into(),
            aud: PARTY.into(),
            sub: user.id.to_string(),
            sid: session.to_string(),
            generation: user.generation,
            iat: now.as_secs(),
            nbf: now.as_secs(),
            exp: end.as_secs(),
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding)?;
        Ok((token, end))
    }

    /// Whom a token speaks for at `now`; `None` unless everything about it is right.
    pub(super) fn read(&self, token: &str, now: Timestamp) -> Option<Subject> {
        let (header, _) = token.split_once('.')?;
        if header != HEADER {
            return None;
        }
        let data = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation).ok()?;
        let Claims { sub, sid, generation, nbf, exp, .. } = data.claims;
        let is_begun = nbf <= now.after(LEEWAY).as_secs();
        if !is_begun || now.as_secs() >= exp {
            return None;
        }
        Some(Subject { user: sub.parse().ok()?, session: sid.parse().ok()?, generation })
    }
}
