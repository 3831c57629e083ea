//! The webhook that is told about all jobs, as it is configured.

use std::time::Duration;

use chronos_core::Http;
use chronos_core::notice::{Kind, Notify, Occasions};

use super::{Config, key};
use crate::{notify, reach};

impl Config {
    /// What is told about jobs that do not say, and where; the key and what is wrong with its value.
    pub(super) fn notify(&self) -> Result<Option<Notify>, (&'static str, String)> {
        let kinds =
            notify::kinds(&self.notify_on).map_err(|(_, problem)| ("notify_on", problem))?;
        let seconds = self.notify_overdue_after_secs;
        let after = "notify_overdue_after_secs";
        if !(1..=key::MOST_SECONDS).contains(&seconds) {
            return Err((after, format!("{seconds} is not accepted")));
        }
        let Some(url) = &self.notify_url else {
            return match self.notify_signing_secret_file {
                None => Ok(None),
                Some(_) => {
                    Err(("notify_signing_secret_file", "there is no notify_url to sign for".into()))
                }
            };
        };
        let of_url = |error| ("notify_url", notify::refused(error).1);
        let webhook = Http::new(url).map_err(of_url)?;
        reach::check(&self.reach(), &webhook).map_err(|problem| ("notify_url", problem))?;
        let seconds = Some(Duration::from_secs(seconds)).filter(|_| kinds.contains(&Kind::Overdue));
        let on =
            Occasions::of(&kinds, seconds).map_err(|error| (after, notify::refused(error).1))?;
        Ok(Some(Notify { webhook: Some(webhook), on }))
    }
}
