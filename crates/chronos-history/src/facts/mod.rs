//! Facts: what is counted of each job in each period, such that parts put together in any order are the whole.

mod cause;
mod figures;
mod job;
mod sketch;
mod timeline;

pub use cause::{Cause, Causes, Sighting};
pub use figures::{Endings, Figures};
pub use job::{Failures, JobFacts, Slowest};
pub use sketch::Sketch;
pub use timeline::{Spell, Timeline};
