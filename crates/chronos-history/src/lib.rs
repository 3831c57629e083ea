//! The periods of the history's table of contents.
//!
//! History is told in hours, days, ISO weeks, months and years, all in universal time. A
//! [`Period`] knows its id, its title, its bounds, and which period owns it:
//!
//! ```
//! use chronos_core::Timestamp;
//! use chronos_history::{Level, Period};
//!
//! let noon = Timestamp::parse("2026-11-15T12:00:00Z").unwrap();
//! let day = Period::containing(Level::Day, noon);
//! assert_eq!(day.to_string(), "toc:day:2026-11-15");
//! assert_eq!(day.title(), "Sunday, 15 November 2026");
//!
//! let week = day.parent().unwrap();
//! assert_eq!(week, "toc:week:2026:W46".parse()?);
//! assert_eq!(week.title(), "Week 46 of 2026 (9–15 November)");
//! # Ok::<(), chronos_history::Error>(())
//! ```

mod error;
mod period;

pub use error::Error;
pub use period::{Level, Period};
