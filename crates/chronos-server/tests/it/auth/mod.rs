//! Who may ask for what, tried on a real daemon over real sockets.

mod auditing;
mod beyond;
mod events;
mod forging;
mod getting_in;
mod keys;
mod limits;
mod matrix;
mod passwords;
mod policies;
mod quotas;
mod strangers;
mod subscriptions;
mod telling;
mod trail;
mod tricks;
mod users;
mod vectors;
mod watching;

use std::io::Write;
use std::net::SocketAddr;

use chronos_server::daemon::ServeConfig;
use chronos_server::proto::scheduler_client::SchedulerClient;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tonic::metadata::MetadataValue;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::daemon::house::{House, config};
use crate::daemon::soon;
use crate::rest::{Answer, JSON, send, text};

/// The key that signs tokens here, so that a test can sign its own.
const KEY: &[u8; 40] = b"a key that is long enough for every test";
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A daemon with users.
struct Estate {
    house: House,
    #[expect(dead_code, reason = "the file is there as long as this is")]
    key: NamedTempFile,
}

/// Somebody who asks, with a token or without.
#[derive(Clone, Debug)]
pub(crate) struct Someone {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

impl Estate {
    /// A daemon with no user yet.
    async fn empty() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut ServeConfig)) -> Self {
        let mut key = NamedTempFile::new().unwrap();
        key.write_all(KEY).unwrap();
        let mut config = config();
        config.auth.key_file = Some(key.path().into());
        change(&mut config);
        Self { house: House::with(config).await, key }
    }

    /// A daemon whose admin is Ada, who has logged in.
    async fn open() -> (Self, Someone) {
        let estate = Self::empty().await;
        let anyone = estate.anyone();
        anyone.post("/auth/signup", &credentials("ada")).await.expect(201);
        let ada = anyone.log_in("ada").await;
        (estate, ada)
    }

    fn anyone(&self) -> Someone {
        Someone { address: self.house.address(), token: None }
    }

    async fn close(self) {
        self.house.close().await;
    }
}

pub(crate) fn credentials(name: &str) -> Value {
    json!({"username": name, "password": PASSWORD})
}

impl Someone {
    pub(crate) fn with_token(&self, token: impl Into<String>) -> Self {
        Self { address: self.address, token: Some(token.into()) }
    }

    async fn send(&self, method: &str, path: &str, lines: &str, body: &[u8]) -> Answer {
        let token = self.token.as_ref();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
        let lines = format!("{lines}{}", token.unwrap_or_default());
        send(self.address, method, path, &lines, body).await
    }

    pub(crate) async fn ask(&self, method: &str, path: &str) -> Answer {
        self.send(method, path, "", b"").await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, JSON, body.to_string().as_bytes()).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send("PATCH", path, JSON, body.to_string().as_bytes()).await
    }

    pub(crate) async fn try_log_in(&self, name: &str, password: &str) -> Answer {
        self.post("/auth/login", &json!({"username": name, "password": password})).await
    }

    /// The status of a login from another address of this machine, 127.0.0.`last`.
    async fn log_in_from(&self, last: u8, name: &str, password: &str) -> u16 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).unwrap();
        let mut stream = soon(socket.connect(self.address)).await.unwrap();
        let body = json!({"username": name, "password": password}).to_string();
        let (address, length) = (self.address, body.len());
        let request = format!(
            "POST /auth/login HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{JSON}\
             Content-Length: {length}\r\n\r\n{body}"
        );
        soon(stream.write_all(request.as_bytes())).await.unwrap();
        let mut answer = String::new();
        soon(stream.read_to_string(&mut answer)).await.unwrap();
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// The user of this name, who logs in now.
    pub(crate) async fn log_in(&self, name: &str) -> Self {
        let login = self.try_log_in(name, PASSWORD).await.expect(200);
        self.with_token(text(&login["token"]))
    }

    /// A user of this role, made by this admin, who logs in now; and the user's id.
    pub(crate) async fn hire(&self, name: &str, role: &str) -> (Self, String) {
        let mut new = credentials(name);
        new["role"] = json!(role);
        let made = self.post("/users", &new).await.expect(201);
        assert_eq!((&made["username"], &made["role"]), (&json!(name), &json!(role)));
        (self.log_in(name).await, text(&made["id"]).into())
    }

    /// This user's program, with a key of these scopes.
    pub(crate) async fn key(&self, scopes: &[&str]) -> Self {
        let made = self.post("/api-keys", &json!({"name": "ci", "scopes": scopes})).await;
        self.with_token(text(&made.expect(201)["key"]))
    }

    /// The same one over gRPC.
    pub(crate) async fn grpc(&self) -> SchedulerClient<InterceptedService<Channel, Bearer>> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        let channel = soon(endpoint.connect()).await.unwrap();
        SchedulerClient::with_interceptor(channel, Bearer(self.token.clone()))
    }
}

/// Puts a token before every call.
#[derive(Clone)]
pub(crate) struct Bearer(Option<String>);

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            let value = MetadataValue::try_from(format!("Bearer {token}")).unwrap();
            request.metadata_mut().insert("authorization", value);
        }
        Ok(request)
    }
}
