//! What is asked for of the audit, of what there is for the caller.

use axum::http::StatusCode;
use chronos_core::account::{Event, What};
use chronos_core::audit::Decision;
use chronos_core::store::{AuditFilter, group, is_of};
use chronos_core::{JobId, TraceId, UserId};

use super::super::query::Query;
use super::super::wire::Errors;
use crate::auth::{Access, Caller};
use crate::problem::Problem;

/// The group of what is told about accounts.
const ACCOUNTS: &str = "auth";

/// Which events are asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) filter: AuditFilter,
    /// Whether decisions are asked for.
    pub(super) decisions: bool,
    /// Whether what was done about accounts is asked for.
    pub(super) accounts: bool,
}

impl Asked {
    pub(super) fn read(caller: &Caller, mut query: Query) -> Result<Self, Problem> {
        let mut errors = Errors::default();
        let job = query.read("job", "a job's id", |text| text.parse::<JobId>().ok());
        let by = query.read("actor", "a user's id", |text| text.parse::<UserId>().ok());
        let owner = query.read("owner", "a user's id", |text| text.parse::<UserId>().ok());
        let trace = query.read("trace_id", "32 hexadecimal digits", trace);
        let kind = query.read("kind", &accepted_kinds(), |text| known(text).then(|| text.into()));
        let (since, until) = (query.instant("since"), query.instant("until"));
        let (job, by, owner) = (errors.note(job), errors.note(by), errors.note(owner));
        let (trace, kind) = (errors.note(trace), errors.note(kind));
        let (since, until) = (errors.note(since), errors.note(until));
        let done = query.done("job, kind, actor, trace_id, owner, since, until, limit or cursor");
        errors.note(done);
        let read = (|| Some((job?, kind?, by?, owner?, trace?, since?, until?)))();
        let read = errors.unless_any(read).map_err(Problem::bad_parameters)?;
        let (job, kind, by, owner, trace, since, until): (_, Option<Box<str>>, _, _, _, _, _) =
            read;
        let oversees = caller.may(Access::Admin);
        let about_accounts = kind.as_deref().map(|kind| group(kind) == ACCOUNTS);
        if about_accounts == Some(true) && !oversees {
            let detail = "what was done about accounts is told to admins alone";
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        let owner: Option<Box<str>> = owner.map(|owner| owner.to_string().into());
        // What is somebody else's is not there.
        let others = !caller.sees_all() && owner.as_ref().is_some_and(|it| *it != caller.owner);
        let narrowed = job.is_some() || owner.is_some() || trace.is_some();
        let own = (!caller.sees_all()).then(|| caller.owner.clone());
        Ok(Self {
            decisions: !others && about_accounts != Some(true),
            accounts: oversees && !narrowed && about_accounts != Some(false),
            filter: AuditFilter { job, kind, by, owner: own.or(owner), trace, since, until },
        })
    }

    /// Whether an account event is asked for.
    pub(super) fn matches(&self, event: &Event) -> bool {
        let AuditFilter { kind, by, since, until, .. } = &self.filter;
        by.is_none_or(|by| event.act.by == Some(by))
            && since.is_none_or(|since| event.act.at >= since)
            && until.is_none_or(|until| event.act.at < until)
            && kind.as_ref().is_none_or(|kind| is_of(event.what.kind(), kind))
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    Decision::KINDS.into_iter().chain(What::KINDS)
}

/// Whether it is a type of event, or a group of them.
fn known(asked: &str) -> bool {
    kinds().any(|kind| is_of(kind, asked))
}

fn accepted_kinds() -> String {
    let mut groups: Vec<&str> = kinds().map(group).collect();
    groups.dedup();
    format!("one of the groups {}, or a type such as schedule.fired", groups.join(", "))
}

fn trace(text: &str) -> Option<TraceId> {
    let hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u128::from_str_radix(text, 16).ok().filter(|_| hex)?;
    Some(TraceId::from_bytes(id.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_and_every_group_may_be_asked_for_and_nothing_else() {
        assert!(kinds().all(|kind| known(kind) && known(group(kind))));
        for unknown in ["", "schedule.", "fired", "schedule.fired.twice", "SCHEDULE"] {
            assert!(!known(unknown), "{unknown}");
        }
        assert!(
            accepted_kinds().contains("schedule, execution, notice, policy, node, backfill, auth")
        );
    }
}
