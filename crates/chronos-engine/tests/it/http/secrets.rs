//! Secrets: opened for the request alone, and signatures that whoever has the secret can check.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::http::{Sealed, signing_keys};
use chronos_engine::http::{KeyError, Keyring, Purpose};
use chronos_engine::{Http, JobId, SchedulerConfig, SchedulerService};
use ring::hmac;

use super::server::{Answer, Request, Server};
use super::{Lab, passing, seldom};

pub(super) const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// Turns texts around, and opens what a job sealed for that job alone.
#[derive(Debug)]
struct Mirror;

impl Keyring for Mirror {
    fn seal(&self, _: JobId, _: Purpose<'_>, secret: &str) -> Result<Sealed, KeyError> {
        Ok(Sealed::new(&secret.chars().rev().collect::<String>()))
    }

    fn open(&self, _: JobId, purpose: Purpose<'_>, sealed: &Sealed) -> Result<String, KeyError> {
        if purpose == Purpose::Header("X-Other") {
            return Err(KeyError::Damaged);
        }
        Ok(sealed.as_str().chars().rev().collect())
    }
}

async fn lab(request: Http, keyring: Option<Arc<dyn Keyring>>) -> Lab {
    let mut scheduler = SchedulerService::new(SchedulerConfig::default()).unwrap();
    if let Some(keyring) = keyring {
        scheduler = scheduler.with_keyring(keyring);
    }
    scheduler.schedule(seldom().http(request)).await.unwrap();
    scheduler.start().await.unwrap();
    Lab(scheduler)
}

/// What Standard Webhooks asks of whoever receives a message, but for the clock: one signature of several
/// must be right.
pub(super) fn verifies(request: &Request, secret: &str) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &signing_keys(secret).unwrap()[0]);
    let (id, at) = (request.header("webhook-id"), request.header("webhook-timestamp"));
    let signed = [format!("{id}.{at}.").as_bytes(), &request.body].concat();
    let is_right = |signature: &str| {
        let signature = signature.strip_prefix("v1,").unwrap();
        hmac::verify(&key, &signed, &STANDARD.decode(signature).unwrap()).is_ok()
    };
    let is_recent = at.parse::<i64>().unwrap() > 1_700_000_000;
    is_recent && request.header("webhook-signature").split(' ').any(is_right)
}

#[tokio::test]
async fn secrets_are_opened_when_they_are_sent() {
    let server = Server::answering(Answer::ok("")).await;
    let request = Http::new(&server.url("/")).unwrap();
    let request = request.with_secret_header("X-Key", Sealed::new("2retnuh")).unwrap();
    let lab = lab(request, Some(Arc::new(Mirror))).await;
    assert_eq!(lab.run_once().await.status(), "SUCCESS");
    assert_eq!(server.seen().requests[0].header("x-key"), "hunter2");
}

#[tokio::test]
async fn a_secret_that_cannot_be_opened_is_never_sent_as_anything_else() {
    let server = Server::answering(Answer::ok("")).await;
    let request = |name| {
        let request = Http::new(&server.url("/")).unwrap();
        request.with_secret_header(name, Sealed::new("2retnuh")).unwrap()
    };
    let why = passing(&lab(request("X-Key"), None).await.run_once().await);
    let expected = "the secret header X-Key cannot be opened: this node has no key for secrets";
    assert!(why.starts_with(expected), "{why}");
    let mirror: Arc<dyn Keyring> = Arc::new(Mirror);
    let why = passing(&lab(request("X-Other"), Some(mirror)).await.run_once().await);
    assert!(why.contains("is damaged, or was sealed for another job"), "{why}");
    let signed = Http::new(&server.url("/")).unwrap().signed_with_secret(Sealed::new("x"));
    let why = passing(&lab(signed, None).await.run_once().await);
    assert!(why.starts_with("the signing secret cannot be opened"), "{why}");
    assert_eq!(server.seen().requests.len(), 0);
}

#[tokio::test]
async fn a_signed_request_can_be_verified_and_keeps_its_id_when_it_is_tried_again() {
    let server = Server::answering(Answer::status(503, "")).await;
    let request = Http::new(&server.url("/")).unwrap().with_body("{\"a\": 1}").unwrap();
    let lab = Lab::retrying(request.signed_with(SECRET).unwrap(), 1).await;
    let attempts = lab.run().await;
    let requests = server.seen().requests.clone();
    assert_eq!((attempts.len(), requests.len()), (2, 2));
    for request in &requests {
        assert!(verifies(request, SECRET), "{}", request.head);
        assert!(!verifies(request, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"));
        assert_eq!(request.header("webhook-id"), attempts[0].id.to_string());
        let altered = Request { body: b"{\"a\": 2}".to_vec(), ..request.clone() };
        assert!(!verifies(&altered, SECRET));
    }
}

#[tokio::test]
async fn while_a_secret_changes_a_request_is_signed_with_both() {
    let server = Server::answering(Answer::ok("")).await;
    let (new, other) = (format!("whsec_{}", "B".repeat(32)), format!("whsec_{}", "A".repeat(32)));
    let request = Http::new(&server.url("/")).unwrap().with_body("{}").unwrap();
    let lab = Lab::calling(request.signed_with(&format!("{new} {SECRET}")).unwrap()).await;
    lab.run_once().await;
    let request = server.seen().requests[0].clone();
    assert_eq!(request.header("webhook-signature").split(' ').count(), 2);
    assert!(verifies(&request, &new), "whoever has the new one can check it");
    assert!(verifies(&request, SECRET), "whoever still has the old one can too");
    assert!(!verifies(&request, &other));
}

#[tokio::test]
async fn a_request_without_a_secret_is_not_signed() {
    let server = Server::answering(Answer::ok("")).await;
    let lab = Lab::calling(Http::new(&server.url("/")).unwrap()).await;
    lab.run_once().await;
    assert!(server.seen().requests[0].all("webhook-signature").is_empty());
}
