//! Secrets: opened for the request alone, and signatures that whoever has the secret can check.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chronos_core::http::{Sealed, signing_keys};
use chronos_engine::http::{KeyError, Keyring, Purpose};
use chronos_engine::{
    Clock, Http, JobId, SchedulerConfig, SchedulerService, SystemClock, Timestamp,
};
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

/// How far the clocks of a sender and a receiver may be apart.
const TOLERANCE: Duration = Duration::from_mins(5);

/// What Standard Webhooks asks of whoever receives a message: it was sent a short while ago, and one
/// signature of several is right.
pub(super) fn verifies(request: &Request, secret: &str) -> bool {
    verifies_at(request, secret, SystemClock::new().now())
}

fn verifies_at(request: &Request, secret: &str, now: Timestamp) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &signing_keys(secret).unwrap()[0]);
    let (id, at) = (request.header("webhook-id"), request.header("webhook-timestamp"));
    let signed = [format!("{id}.{at}.").as_bytes(), &request.body].concat();
    let is_right = |signature: &str| {
        let signature = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        signature.is_some_and(|signature| hmac::verify(&key, &signed, &signature).is_ok())
    };
    let apart = at.parse::<i64>().map(|at| now.as_secs().abs_diff(at));
    let is_recent = apart.is_ok_and(|apart| apart <= TOLERANCE.as_secs());
    is_recent && request.header("webhook-signature").split(' ').any(is_right)
}

/// The same request with another value in a header.
fn altered(request: &Request, name: &str, value: &str) -> Request {
    let line = |value: &str| format!("{name}: {value}\r\n");
    let head = request.head.replace(&line(request.header(name)), &line(value));
    assert_ne!(head, request.head, "{name}");
    Request { head, ..request.clone() }
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
async fn each_attempt_is_signed_at_its_own_time_with_the_id_of_the_first() {
    let server = Server::answering(Answer::status(503, "")).await;
    let request = Http::new(&server.url("/")).unwrap().signed_with(SECRET).unwrap();
    // A fifth less of it is still more than a second, which is what times are told in.
    let delay = Duration::from_millis(1_300);
    let job = seldom().http(request).retries(1).retry_delay(delay, delay);
    let attempts = Lab::with(job).await.run().await;
    let requests = server.seen().requests;
    assert_eq!((attempts.len(), requests.len()), (2, 2));
    let all = |name| requests.iter().map(|request| request.header(name)).collect::<Vec<_>>();
    let (ids, times) = (all("webhook-id"), all("webhook-timestamp"));
    assert_eq!(ids[0], ids[1]);
    let seconds = times.iter().map(|time| time.parse::<i64>().unwrap());
    assert!(seconds.is_sorted_by(|one, next| one < next), "{times:?}");
    // What is signed has a dot after each of them, so neither has one inside.
    assert!(ids.iter().chain(&times).all(|text| !text.contains('.')), "{ids:?} {times:?}");
    assert!(requests.iter().all(|request| verifies(request, SECRET)));
}

#[tokio::test]
async fn a_forged_a_cut_and_a_stale_signature_are_told_from_a_good_one() {
    let server = Server::answering(Answer::ok("")).await;
    let request = Http::new(&server.url("/")).unwrap().with_body("{}").unwrap();
    Lab::calling(request.signed_with(SECRET).unwrap()).await.run_once().await;
    let request = server.seen().requests[0].clone();
    let seconds: i64 = request.header("webhook-timestamp").parse().unwrap();
    let sent = Timestamp::from_micros(seconds * 1_000_000);
    let too_far = TOLERANCE + Duration::from_secs(1);
    for (now, is_good) in [
        (sent, true),
        (sent.after(TOLERANCE), true),
        (sent.before(TOLERANCE), true),
        (sent.after(too_far), false),
        (sent.before(too_far), false),
    ] {
        assert_eq!(verifies_at(&request, SECRET, now), is_good, "sent {sent}, looked at {now}");
    }
    let good = request.header("webhook-signature");
    let bytes = STANDARD.decode(good.strip_prefix("v1,").unwrap()).unwrap();
    let v1 = |bytes: &[u8]| format!("v1,{}", STANDARD.encode(bytes));
    assert_eq!(v1(&bytes), good);
    for forged in [
        String::new(),
        "v1".into(),
        "v1,".into(),
        "v1, v1,".into(),
        v1(&bytes[..1]),
        v1(&bytes[..31]),
        v1(&bytes[1..]),
        v1(&[&bytes[..], &[0]].concat()),
        v1(&bytes.repeat(2)),
        good[..good.len() - 1].into(),
        format!("{good}="),
        good.replace("v1,", "v2,"),
        good.replace("v1,", ""),
    ] {
        let request = altered(&request, "webhook-signature", &forged);
        assert!(!verifies_at(&request, SECRET, sent), "{forged:?}");
    }
    for (name, value) in [
        ("webhook-id", "another"),
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", &(seconds + 1).to_string()),
    ] {
        assert!(!verifies_at(&altered(&request, name, value), SECRET, sent), "{name}: {value}");
    }
    let among_others = altered(&request, "webhook-signature", &format!("v1, v2,x {good}"));
    assert!(verifies_at(&among_others, SECRET, sent));
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
