//! Access: the one table that says what each route and method takes, and who may do it.

use chronos_core::account::Role;

use super::caller::{Caller, Proof};

/// What somebody must be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing: whoever asks is answered.
    Open,
    /// To be told about oneself.
    Oneself,
    /// To change how oneself gets in, which takes a login: no key makes another key.
    Account,
    /// To be told about jobs: one's own, or all.
    Read,
    /// To change jobs: one's own, or all.
    Write,
    /// To be told about the whole system.
    Oversee,
    /// To do what only an admin does.
    Admin,
}

use Access::{Account, Admin, Oneself, Open, Oversee, Read, Write};

/// Every route and every gRPC method, and what it takes. What is not here is for admins alone.
pub const TABLE: &[(&str, Access)] = &[
    ("GET /healthz", Open),
    ("GET /readyz", Open),
    ("GET /openapi.json", Open),
    ("POST /auth/signup", Open),
    ("POST /auth/login", Open),
    ("POST /auth/refresh", Open),
    ("POST /auth/logout", Oneself),
    ("GET /auth/me", Oneself),
    ("POST /auth/password", Account),
    ("GET /api-keys", Account),
    ("POST /api-keys", Account),
    ("DELETE /api-keys/{id}", Account),
    ("GET /auth/audit", Admin),
    ("GET /users", Admin),
    ("POST /users", Admin),
    ("GET /users/{id}", Admin),
    ("PATCH /users/{id}", Admin),
    ("DELETE /users/{id}", Admin),
    ("GET /jobs", Read),
    ("POST /jobs", Write),
    ("POST /jobs/recurring", Write),
    ("POST /jobs/bulk", Write),
    ("GET /jobs/stream", Read),
    ("GET /jobs/recent", Read),
    ("GET /jobs/{id}", Read),
    ("PATCH /jobs/{id}", Write),
    ("DELETE /jobs/{id}", Write),
    ("POST /jobs/{id}/pause", Write),
    ("POST /jobs/{id}/resume", Write),
    ("POST /jobs/{id}/run", Write),
    ("POST /jobs/{id}/retry", Write),
    ("POST /jobs/{id}/cancel", Write),
    ("GET /jobs/{id}/executions", Read),
    ("GET /jobs/{id}/backfills", Read),
    ("POST /jobs/{id}/backfills", Write),
    ("GET /backfills/{id}", Read),
    ("POST /backfills/{id}/pause", Write),
    ("POST /backfills/{id}/resume", Write),
    ("POST /backfills/{id}/cancel", Write),
    ("GET /executions/{id}", Read),
    ("POST /executions/{id}/cancel", Write),
    ("GET /audit", Read),
    ("GET /audit/stream", Read),
    ("GET /jobs/{id}/explain", Read),
    ("GET /history", Oversee),
    ("POST /history/rebuild", Admin),
    ("POST /history/prune", Admin),
    ("GET /history/toc", Read),
    ("GET /history/toc/{node}", Read),
    ("GET /history/jobs/{id}", Read),
    ("GET /history/search", Read),
    ("GET /events", Read),
    ("GET /events/stream", Read),
    ("GET /dead-letters", Read),
    ("POST /dead-letters/redrive", Write),
    ("POST /schedules/preview", Read),
    ("POST /jobs/{id}/preview", Read),
    ("GET /jobs/{id}/preview", Read),
    ("GET /quiet-hours", Read),
    ("POST /quiet-hours", Write),
    ("GET /quiet-hours/{id}", Read),
    ("PATCH /quiet-hours/{id}", Write),
    ("DELETE /quiet-hours/{id}", Write),
    ("GET /subscriptions", Read),
    ("POST /subscriptions", Write),
    ("GET /subscriptions/{id}", Read),
    ("PATCH /subscriptions/{id}", Write),
    ("DELETE /subscriptions/{id}", Write),
    ("POST /subscriptions/{id}/pause", Write),
    ("POST /subscriptions/{id}/resume", Write),
    ("GET /monitoring/jobs", Oversee),
    ("GET /monitoring/workers", Oversee),
    ("GET /monitoring/herd", Oversee),
    ("GET /metrics", Oversee),
    ("/chronos.v1.History/GetTocNode", Read),
    ("/chronos.v1.History/GetJobHistory", Read),
    ("/chronos.v1.History/SearchHistory", Read),
    ("/chronos.v1.History/RebuildHistory", Admin),
    ("/chronos.v1.History/GetHistoryStanding", Oversee),
    ("/chronos.v1.Scheduler/GetSchedulerStatus", Read),
    ("/chronos.v1.Scheduler/CreateJob", Write),
    ("/chronos.v1.Scheduler/UpdateJob", Write),
    ("/chronos.v1.Scheduler/DeleteJob", Write),
    ("/chronos.v1.Scheduler/GetJob", Read),
    ("/chronos.v1.Scheduler/ListJobs", Read),
    ("/chronos.v1.Scheduler/PauseJob", Write),
    ("/chronos.v1.Scheduler/ResumeJob", Write),
    ("/chronos.v1.Scheduler/RunJob", Write),
    ("/chronos.v1.Scheduler/ListExecutions", Read),
    ("/chronos.v1.Scheduler/GetExecution", Read),
    ("/chronos.v1.Scheduler/CancelExecution", Write),
    ("/chronos.v1.Scheduler/WatchExecutions", Read),
    ("/chronos.v1.Scheduler/StreamEvents", Read),
    ("/chronos.v1.Scheduler/CreateBackfill", Write),
    ("/chronos.v1.Scheduler/PreviewBackfill", Read),
    ("/chronos.v1.Scheduler/ListBackfills", Read),
    ("/chronos.v1.Scheduler/GetBackfill", Read),
    ("/chronos.v1.Scheduler/PauseBackfill", Write),
    ("/chronos.v1.Scheduler/ResumeBackfill", Write),
    ("/chronos.v1.Scheduler/CancelBackfill", Write),
    ("/chronos.v1.Scheduler/Backup", Admin),
];

/// What a route or a method takes.
pub(super) fn of(asked: &str) -> Access {
    TABLE.iter().find(|(name, _)| *name == asked).map_or(Admin, |(_, access)| *access)
}

impl Access {
    /// Whether this role may do it at all.
    #[must_use]
    pub fn is_for(self, role: Role) -> bool {
        match self {
            Self::Open | Self::Oneself | Self::Account | Self::Read => true,
            Self::Write => matches!(role, Role::User | Role::Admin),
            Self::Oversee => matches!(role, Role::Viewer | Role::Admin),
            Self::Admin => role == Role::Admin,
        }
    }
}

/// Why a caller may not do it; `None` if it may.
pub(super) fn refusal(caller: &Caller, access: Access) -> Option<String> {
    if !access.is_for(caller.role) {
        return Some(format!("the role {} may not do this", caller.role.as_str()));
    }
    let scopes = caller.scopes;
    let missing = match access {
        Access::Oneself | Access::Read | Access::Oversee => (!scopes.read).then_some("read"),
        Access::Write => (!scopes.write).then_some("write"),
        Access::Admin => (!scopes.admin).then_some("admin"),
        Access::Account if !matches!(caller.proof, Proof::Login { .. }) => {
            return Some("this takes a login with a password".into());
        }
        Access::Open | Access::Account => None,
    };
    missing.map(|scope| format!("the API key lacks the scope {scope}"))
}

impl Caller {
    /// Whether it may do it.
    pub(crate) fn may(&self, access: Access) -> bool {
        refusal(self, access).is_none()
    }
}
