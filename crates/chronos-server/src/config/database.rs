//! The address of a database, which is a secret: whoever prints it gets it without its password.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use url::Url;

const MASK: &str = "***";

/// The address of a PostgreSQL database. It is shown, printed and serialized without its password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The address in full, for those who connect.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// What is wrong with it, if it is no address of a database.
    pub(super) fn check(&self) -> Result<(), String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| self.0.starts_with(scheme)) {
            return Err("the address does not begin with postgres://".into());
        }
        Url::parse(&self.0).map(drop).map_err(|error| format!("the address is none: {error}"))
    }

    fn masked(&self) -> Option<String> {
        let mut url = Url::parse(&self.0).ok()?;
        if url.password().is_some() {
            url.set_password(Some(MASK)).ok()?;
        }
        if url.query().is_some() {
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            let shown = pairs.iter().map(|(name, value)| {
                let secret = name.to_ascii_lowercase().contains("password");
                (name, if secret { MASK } else { value })
            });
            url.query_pairs_mut().clear().extend_pairs(shown);
        }
        Some(url.into())
    }
}

impl From<String> for DatabaseUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where a password would be in what is no address, nobody knows.
        f.write_str(&self.masked().unwrap_or_else(|| MASK.into()))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (given, shown) in [
            ("postgres://ada:s3cret@db:5432/jobs", "postgres://ada:***@db:5432/jobs"),
            ("postgres://ada@db/jobs", "postgres://ada@db/jobs"),
            ("postgresql://ada:s3%40ret@db/jobs", "postgresql://ada:***@db/jobs"),
            (
                "postgres://db/jobs?user=ada&password=s3cret&sslmode=require",
                "postgres://db/jobs?user=ada&password=***&sslmode=require",
            ),
            ("postgres://ada@%2Frun%2Fpg/jobs", "postgres://ada@%2Frun%2Fpg/jobs"),
            ("postgres://ada:s3cret@db:port/jobs", "***"),
        ] {
            let url = DatabaseUrl::from(given.to_owned());
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
            assert_eq!(serde_json::to_value(&url).unwrap(), shown);
            assert_eq!(url.secret(), given);
        }
    }
}
