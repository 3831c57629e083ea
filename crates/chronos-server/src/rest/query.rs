//! Parameters: what a request says beside its body, each known by name and given once.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use chronos_core::Timestamp;
use percent_encoding::percent_decode_str;

use super::cursor;
use crate::problem::{FieldError, Problem};

/// The parameters after the question mark.
#[derive(Debug, Default)]
pub(super) struct Query(BTreeMap<String, String>);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut given = BTreeMap::new();
        for pair in parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded("query", name)?, decoded(name, value)?);
            if given.insert(name.clone(), value).is_some() {
                return Err(Problem::bad_parameter(&clipped(&name), "it comes twice; use it once"));
            }
        }
        Ok(Self(given))
    }
}

fn decoded(name: &str, text: &str) -> Result<String, Problem> {
    let spaced = text.replace('+', " ");
    let text = percent_decode_str(&spaced).decode_utf8();
    let text = text.ok().filter(|text| !text.contains('\0'));
    text.map(Into::into).ok_or_else(|| {
        Problem::bad_parameter(&clipped(name), "it is no text; use UTF-8 without U+0000, encoded")
    })
}

fn clipped(text: &str) -> String {
    text.chars().take(60).collect()
}

impl Query {
    /// Takes a parameter out.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Takes a parameter out that is one of a few words, or of some form.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        accepted: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        let Some(given) = self.take(name) else {
            return Ok(None);
        };
        read(&given).map(Some).ok_or_else(|| {
            let problem = format!("{:?} is not accepted; use {accepted}", clipped(&given));
            FieldError::new(name, problem)
        })
    }

    /// Takes out whether something is so.
    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, FieldError> {
        self.read(name, "true or false", |text| text.parse().ok())
    }

    /// Takes out an instant.
    pub(super) fn instant(&mut self, name: &str) -> Result<Option<Timestamp>, FieldError> {
        self.read(name, "an instant such as 2026-12-01T09:00:00Z", Timestamp::parse)
    }

    /// Takes out how long a page may be and where it begins.
    pub(super) fn page(&mut self) -> Result<(usize, Option<String>), Problem> {
        let limit = self.take("limit");
        Ok((cursor::limit(limit.as_deref())?, self.take("cursor")))
    }

    /// The same of a list that takes nothing else.
    pub(super) fn page_alone(mut self) -> Result<(usize, Option<String>), Problem> {
        let page = self.page()?;
        let done = self.done("limit or cursor");
        done.map(|()| page).map_err(|error| Problem::bad_parameters(vec![error]))
    }

    /// Refuses what nobody took out.
    pub(super) fn done(self, accepted: &str) -> Result<(), FieldError> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => {
                let problem = format!("there is no such parameter; use {accepted}");
                Err(FieldError::new(clipped(&name), problem))
            }
        }
    }
}

/// The id in a path. What is no id is nothing's.
pub(super) struct Id<T>(pub(super) T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, state).await;
        let given = params.map_err(|_| {
            Problem::bad_parameter("path", "it is no text; use UTF-8, encoded where need be")
        })?;
        let text = given.iter().map(|(_, text)| text).next().unwrap_or_default();
        // Other spellings of an id would give one thing two addresses.
        let id = text.parse().ok().filter(|_| text.len() == 36);
        id.map(Self).ok_or_else(|| {
            Problem::not_found(format!("there is nothing with the id {:?}", clipped(text)))
        })
    }
}
