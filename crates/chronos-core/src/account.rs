//! Accounts: who may ask for what, and the port through which a store remembers them.
//!
//! The port is apart from [`crate::Store`], because a program that embeds the scheduler needs no users.
//! As there, each verb is one atomic step and `now` is an argument. Secrets come in as digests only.

mod attempt;
mod event;
mod key;
mod name;
mod port;
mod secret;
mod session;
mod user;

pub use attempt::{Attempt, Subject};
pub use event::{Act, Event, What};
pub use key::{ApiKey, Scopes};
pub use name::{BadName, UserName};
pub use port::{Accounts, Error, Result};
pub use secret::{Digest, PasswordHash};
pub use session::{MAX_SESSIONS, Session};
pub use user::{Admit, NewUser, Role, User, UserChange};
