//! Summaries: what there is to say of a period, by whoever is asked to say it.

mod extractive;
mod words;

use async_trait::async_trait;

use crate::digest::Digest;
use crate::node::{Node, Summary};
use crate::{Level, Period};
pub use extractive::Extractive;

/// Says what there is to say of a period.
///
/// The same period may be asked about again, whenever something late is added to it.
#[async_trait]
pub trait Summarizer: Send + Sync + 'static {
    /// Sums up what happened in an hour.
    async fn summarize_events(&self, hour: Period, digest: &Digest) -> Result<Summary, Unsaid>;

    /// Sums up a longer period, of which the parts have been summed up.
    async fn summarize_children(
        &self,
        period: Period,
        digest: &Digest,
        children: &[Node],
    ) -> Result<Summary, Unsaid>;
}

/// Why there is no summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no summary: {0}")]
pub struct Unsaid(pub String);

/// What the summarizer says of a period; what the extractive one says, where it says nothing.
pub(crate) async fn sum_up(
    summarizer: &dyn Summarizer,
    period: Period,
    digest: &Digest,
    children: &[Node],
) -> (Summary, Option<Unsaid>) {
    let said = match period.level() {
        Level::Hour => summarizer.summarize_events(period, digest).await,
        Level::Day | Level::Week | Level::Month | Level::Year => {
            summarizer.summarize_children(period, digest, children).await
        }
    };
    match said {
        Ok(summary) => (summary, None),
        Err(unsaid) => (extractive::notes(period, digest, children), Some(unsaid)),
    }
}
