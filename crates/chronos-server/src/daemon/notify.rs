//! The secret of the webhook that is told about all jobs.

use super::{Error, ServeConfig};
use crate::auth::read_private;

/// Has what the scheduler's own webhook is told signed with the secret in the file that is named.
pub(super) fn sign(config: &mut ServeConfig) -> Result<(), Error> {
    let (Some(path), Some(notify)) =
        (&config.notify_signing_secret_file, &mut config.scheduler.notify)
    else {
        return Ok(());
    };
    let refused = |problem: String| Error::SigningSecret { path: path.clone(), problem };
    let secret = read_private(path).map_err(|error| refused(error.to_string()))?;
    notify.webhook = match notify.webhook.take() {
        None => None,
        Some(webhook) => {
            let signed = webhook.signed_with(&secret);
            Some(signed.map_err(|error| refused(crate::notify::refused(error).1))?)
        }
    };
    Ok(())
}
