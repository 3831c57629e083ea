//! Whose jobs whoever watches is told of.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Estate, Someone};
use crate::daemon::soon;
use crate::rest::events::says;
use crate::rest::text;

/// A stream of changes, from its first line on.
struct Listener {
    connection: TcpStream,
    heard: String,
}

impl Listener {
    async fn open(address: SocketAddr, someone: &Someone) -> Self {
        let mut connection = soon(TcpStream::connect(address)).await.unwrap();
        let token = someone.token.as_deref().unwrap();
        let head = format!(
            "GET /jobs/stream HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        soon(connection.write_all(head.as_bytes())).await.unwrap();
        let mut listener = Self { connection, heard: String::new() };
        // From its first line on it is told of everything.
        listener.until("listening").await;
        listener
    }

    async fn until(&mut self, expected: &str) -> &str {
        while !self.heard.contains(expected) {
            let mut part = Vec::new();
            let read = soon(self.connection.read_buf(&mut part)).await.unwrap();
            assert!(read > 0, "{expected} did not come: {}", self.heard);
            self.heard.push_str(&String::from_utf8_lossy(&part));
        }
        &self.heard
    }
}

async fn said(someone: &Someone, name: &str) -> String {
    let made = someone.post("/jobs/recurring", &says(name)).await.expect(201);
    let id = text(&made["id"]).to_owned();
    someone.ask("POST", &format!("/jobs/{id}/run")).await.expect(201);
    id
}

#[tokio::test]
async fn a_stream_names_the_jobs_that_changed_and_nobody_is_told_of_anothers() {
    let (estate, ada) = Estate::open().await;
    let (uma, _) = ada.hire("uma", "user").await;
    let mut by_ada = Listener::open(ada.address, &ada).await;
    let mut by_uma = Listener::open(ada.address, &uma).await;
    let other = said(&ada, "other").await;
    let hers = said(&uma, "hers").await;
    by_ada.until(&other).await;
    by_ada.until(&hers).await;
    let heard = by_uma.until(&hers).await;
    assert!(!heard.contains(&other), "{heard}");
    estate.close().await;
}
