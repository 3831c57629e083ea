//! The matrix: every route and every method, tried by everyone, against the one table.

use std::collections::BTreeSet;

use chronos_core::account::Role;
use chronos_server::auth::{Access, TABLE};
use prost::Message;
use prost_types::FileDescriptorSet;
use serde_json::Value;

use super::{Estate, Someone};

const GHOST: &str = "01890000-0000-7000-8000-000000000000";

/// Every method of the contract, as it is called.
fn methods() -> BTreeSet<String> {
    let files = FileDescriptorSet::decode(chronos_server::proto::DESCRIPTORS).unwrap().file;
    let mut methods = BTreeSet::new();
    for file in &files {
        for service in &file.service {
            for method in &service.method {
                let name = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                methods.insert(name);
            }
        }
    }
    methods
}

/// Every route of the document, as it is called.
fn routes() -> BTreeSet<String> {
    let document: Value = serde_json::from_str(&chronos_server::rest::openapi()).unwrap();
    let mut routes = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            routes.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    routes
}

#[test]
fn every_route_and_every_method_is_in_the_table_once() {
    let mut known = methods();
    known.extend(routes());
    known.extend(["GET /healthz", "GET /readyz", "GET /metrics"].map(String::from));
    let listed: BTreeSet<String> = TABLE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(listed, known);
    assert_eq!(listed.len(), TABLE.len(), "each is listed once");
}

/// Somebody, and what the table says about them.
struct Rank {
    name: &'static str,
    someone: Someone,
    role: Option<Role>,
    is_login: bool,
}

/// Whether the daemon let it through: 401 and 403 of REST, 16 and 7 of gRPC, say no.
async fn is_let_through(someone: &Someone, asked: &str) -> Result<(), u16> {
    let (answer, refusal) = if let Some((method, path)) = asked.split_once(' ') {
        // A stream has no end, so one is asked for that cannot begin.
        let path = path.replace("{id}", GHOST).replace("/stream", "/stream?after=x");
        let answer = someone.ask(method, &path).await;
        let refusal = Some(answer.status).filter(|status| matches!(status, 401 | 403));
        (answer, refusal)
    } else {
        let lines = "Content-Type: application/grpc\r\nTE: trailers\r\n";
        let answer = someone.send("POST", asked, lines, &[0; 5]).await;
        let refusal = match answer.header("grpc-status") {
            Some("16") => Some(401),
            Some("7") => Some(403),
            _ => None,
        };
        (answer, refusal)
    };
    assert!((200..500).contains(&answer.status), "{asked}: {answer:?}");
    refusal.map_or(Ok(()), Err)
}

#[tokio::test]
async fn everyone_may_do_what_the_table_says_and_nothing_else() {
    let (estate, ada) = Estate::open().await;
    let (uma, _) = ada.hire("uma", "user").await;
    let (vic, _) = ada.hire("vic", "viewer").await;
    let rank = |name, someone, role, is_login| Rank { name, someone, role, is_login };
    let all = ["read", "write", "admin"];
    let ranks = [
        rank("nobody", estate.anyone(), None, false),
        rank("a forger", estate.anyone().with_token("a.b.c"), None, false),
        rank("a user", uma.clone(), Some(Role::User), true),
        rank("a viewer", vic.clone(), Some(Role::Viewer), true),
        rank("an admin", ada.clone(), Some(Role::Admin), true),
        rank("a user's key", uma.key(&all).await, Some(Role::User), false),
        rank("a viewer's key", vic.key(&all).await, Some(Role::Viewer), false),
        rank("an admin's key", ada.key(&all).await, Some(Role::Admin), false),
    ];
    for (asked, access) in TABLE {
        for rank in &ranks {
            let mut someone = rank.someone.clone();
            if *asked == "POST /auth/logout" && rank.is_login {
                // It ends with the question.
                let name = match rank.role {
                    Some(Role::Admin) => "ada",
                    Some(Role::Viewer) => "vic",
                    _ => "uma",
                };
                someone = someone.log_in(name).await;
            }
            let expected = match (access, rank.role) {
                (Access::Open, _) => Ok(()),
                (_, None) => Err(401),
                (Access::Account, Some(_)) if !rank.is_login => Err(403),
                (access, Some(role)) if !access.is_for(role) => Err(403),
                _ => Ok(()),
            };
            let mut seen = is_let_through(&someone, asked).await;
            if *asked == "POST /auth/signup" {
                // Open, but closed by itself once there are users.
                seen = seen.or(Ok(()));
            }
            assert_eq!(seen, expected, "{asked} by {}", rank.name);
        }
    }
    estate.close().await;
}

#[test]
fn the_table_gives_each_role_what_it_is_for() {
    for (access, user, viewer) in [
        (Access::Open, true, true),
        (Access::Oneself, true, true),
        (Access::Account, true, true),
        (Access::Read, true, true),
        (Access::Write, true, false),
        (Access::Oversee, false, true),
        (Access::Admin, false, false),
    ] {
        let may = [Role::User, Role::Viewer, Role::Admin].map(|role| access.is_for(role));
        assert_eq!(may, [user, viewer, true], "{access:?}");
    }
    for (asked, access) in TABLE {
        let changes = asked.starts_with(['P', 'D']);
        let harmless = ["/auth/", "/api-keys", "/schedules/preview", "/jobs/{id}/preview"];
        if changes && !harmless.iter().any(|path| asked.contains(path)) {
            assert!(!access.is_for(Role::Viewer), "{asked} changes something");
        }
    }
}

#[test]
fn each_entry_of_the_table_is_what_its_name_promises() {
    for (asked, access) in TABLE {
        let (verb, path) = asked.split_once(' ').unwrap_or(("", asked));
        let method = asked.strip_prefix("/chronos.v1.").unwrap_or_default();
        let method = method.split_once('/').map_or("", |(_, method)| method);
        let expected = match path {
            "/healthz" | "/readyz" | "/openapi.json" | "/auth/signup" | "/auth/login"
            | "/auth/refresh" => Access::Open,
            "/auth/logout" | "/auth/me" => Access::Oneself,
            "/auth/audit" => Access::Admin,
            _ if path.starts_with("/auth/") || path.starts_with("/api-keys") => Access::Account,
            _ if path.starts_with("/users") || method == "Backup" => Access::Admin,
            "/history/rebuild" | "/history/prune" => Access::Admin,
            _ if method == "RebuildHistory" => Access::Admin,
            "/history" => Access::Oversee,
            _ if method == "GetHistoryStanding" => Access::Oversee,
            _ if path.starts_with("/monitoring/") || path == "/metrics" => Access::Oversee,
            // A preview is told, although it is posted.
            "/schedules/preview" | "/jobs/{id}/preview" => Access::Read,
            _ if verb == "GET" => Access::Read,
            _ if ["Get", "List", "Watch", "Search", "Stream", "Preview"]
                .iter()
                .any(|told| method.starts_with(told)) =>
            {
                Access::Read
            }
            _ => Access::Write,
        };
        assert_eq!(*access, expected, "{asked}");
    }
}

#[tokio::test]
async fn without_users_everything_is_for_this_machine() {
    let estate = Estate::empty().await;
    for (asked, access) in TABLE {
        let seen = is_let_through(&estate.anyone(), asked).await;
        let expected = if *access == Access::Account { Err(403) } else { Ok(()) };
        assert_eq!(seen, expected, "{asked}");
    }
    estate.close().await;
}

#[tokio::test]
async fn health_and_reflection_answer_everyone() {
    let (estate, _) = Estate::open().await;
    for path in [
        "/grpc.health.v1.Health/Check",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    ] {
        assert_eq!(is_let_through(&estate.anyone(), path).await, Ok(()), "{path}");
    }
    let unknown = is_let_through(&estate.anyone(), "/chronos.v1.Scheduler/Nothing").await;
    assert_eq!(unknown, Err(401), "what is not in the table is for admins");
    estate.close().await;
}
