//! Forgeries: whatever a token says, it is taken only if the daemon made it and it still holds.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{Estate, KEY};
use crate::rest::send;

/// A token as a forger would put it together.
pub(super) fn token(header: &str, claims: &str, key: &[u8]) -> String {
    let body = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(body.as_bytes());
    format!("{body}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

pub(super) fn claims_of(token: &str) -> Value {
    let claims = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

const HEADER: &str = r#"{"typ":"JWT","alg":"HS256"}"#;

#[tokio::test]
async fn a_token_with_the_right_key_and_claims_is_taken() {
    let (estate, ada) = Estate::open().await;
    let claims = claims_of(ada.token.as_ref().unwrap());
    // What the other tests alter is what is taken when it is not altered.
    let own = token(HEADER, &claims.to_string(), KEY);
    ada.with_token(own).get("/jobs").await.expect(200);
    estate.close().await;
}

#[tokio::test]
async fn other_headers_algorithms_and_keys_are_refused() {
    let (estate, ada) = Estate::open().await;
    let real = ada.token.clone().unwrap();
    let claims = claims_of(&real).to_string();
    let mut forged = Vec::new();
    for alg in ["none", "None", "nOnE", "HS384", "HS512", "RS256", "ES256", "EdDSA", "", "hs256"] {
        let header = format!(r#"{{"typ":"JWT","alg":"{alg}"}}"#);
        let signed = token(&header, &claims, KEY);
        let (body, _) = signed.rsplit_once('.').unwrap();
        forged.extend([format!("{body}."), body.to_owned(), signed.clone()]);
    }
    for header in [
        r#"{"typ":"JWT","alg":"HS256","kid":"../../etc/passwd"}"#,
        r#"{"typ":"JWT","alg":"HS256","kid":"' OR 1=1--"}"#,
        r#"{"typ":"JWT","alg":"HS256","jku":"http://127.0.0.1:9/keys"}"#,
        r#"{"typ":"JWT","alg":"HS256","x5u":"http://127.0.0.1:9/cert"}"#,
        r#"{"typ":"JWT","alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#,
        r#"{"typ":"JWT","alg":"HS256","crit":["exp"],"exp":1}"#,
        r#"{"typ":"JWT","alg":"HS256","b64":false,"crit":["b64"]}"#,
        r#"{"typ":"at+jwt","alg":"HS256"}"#,
        "{}",
        "",
    ] {
        forged.push(token(header, &claims, KEY));
    }
    for key in [&b""[..], b"another key that is long enough for it all", &KEY[..39]] {
        forged.push(token(HEADER, &claims, key));
    }
    let (body, signature) = real.rsplit_once('.').unwrap();
    forged.extend([
        format!("{body}."),
        format!("{body}.{}", &signature[..20]),
        format!("{body}.{signature}AAAA"),
        format!("{body}.{}", URL_SAFE_NO_PAD.encode([0; 32])),
        format!("{real}.{signature}"),
        format!(".{real}"),
        "..".into(),
        "a.b.c".into(),
        "chl_AAAA".into(),
        format!("chl_{}", URL_SAFE_NO_PAD.encode([0; 32])),
        format!("chr_{}", URL_SAFE_NO_PAD.encode([0; 48])),
        "x".repeat(10_000),
    ]);
    for forged in forged {
        ada.with_token(&*forged).get("/jobs").await.refused(401);
    }
    estate.close().await;
}

#[tokio::test]
async fn claims_that_do_not_hold_are_refused() {
    let (estate, ada) = Estate::open().await;
    let real = claims_of(ada.token.as_ref().unwrap());
    let now = real["iat"].as_i64().unwrap();
    let other = "01890000-0000-7000-8000-000000000000";
    for (claim, values) in [
        (
            "exp",
            vec![
                json!(now - 1),
                json!(0),
                json!(-1),
                json!("never"),
                json!((now + 900).to_string()),
                json!(1.5e10),
                json!(null),
                json!([now + 900]),
            ],
        ),
        ("nbf", vec![json!(now + 100), json!("9999999999"), json!(null), json!(1e300)]),
        ("aud", vec![json!("other"), json!(["other"]), json!(null), json!(""), json!(7)]),
        ("iss", vec![json!("other"), json!(null), json!(7)]),
        ("sub", vec![json!(other), json!(""), json!("ada"), json!(null), json!(7)]),
        ("sid", vec![json!(other), json!("")]),
        ("generation", vec![json!(0), json!(2), json!(-1), json!("1")]),
        ("role", vec![json!("admin")]),
    ] {
        for value in values {
            let mut altered = real.clone();
            altered[claim] = value.clone();
            let forged = token(HEADER, &altered.to_string(), KEY);
            let answer = ada.with_token(forged).get("/jobs").await;
            assert_eq!(answer.status, 401, "{claim}: {value}");
        }
        if claim != "role" {
            let mut without = real.clone();
            without.as_object_mut().unwrap().remove(claim);
            let forged = token(HEADER, &without.to_string(), KEY);
            assert_eq!(ada.with_token(forged).get("/jobs").await.status, 401, "no {claim}");
        }
    }
    for claims in ["", "{", "[]", "null", r#"{"exp":1e400}"#] {
        ada.with_token(token(HEADER, claims, KEY)).get("/jobs").await.refused(401);
    }
    estate.close().await;
}

#[tokio::test]
async fn a_token_counts_in_one_authorization_header_and_nowhere_else() {
    let (estate, ada) = Estate::open().await;
    let (address, token) = (ada.address, ada.token.clone().unwrap());
    for (lines, status) in [
        (format!("Authorization: Bearer {token}\r\n"), 200),
        (format!("authorization: bearer  {token} \r\n"), 200),
        (format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n"), 400),
        (format!("Authorization: {token}\r\n"), 401),
        (format!("Authorization: Basic {token}\r\n"), 401),
        ("Authorization: Bearer\r\n".into(), 401),
        ("Authorization: \r\n".into(), 401),
        (format!("Cookie: token={token}\r\n"), 401),
        (format!("X-Api-Key: {token}\r\n"), 401),
        (format!("Proxy-Authorization: Bearer {token}\r\n"), 401),
        ("X-Forwarded-User: ada\r\nX-Remote-User: ada\r\n".into(), 401),
    ] {
        let answer = send(address, "GET", "/jobs", &lines, b"").await;
        assert_eq!(answer.status, status, "{lines}");
    }
    for name in ["token", "access_token", "api_key"] {
        let path = format!("/jobs?{name}={token}");
        assert_eq!(send(address, "GET", &path, "", b"").await.status, 401);
        ada.get(&path).await.refused(400);
    }
    for path in ["/jobs/", "//jobs", "/./jobs", "/JOBS", "/jobs%2f", "/users/", "/%75sers"] {
        let answer = send(address, "GET", path, "", b"").await;
        assert!(matches!(answer.status, 401 | 404), "{path}: {}", answer.status);
    }
    let override_ = "X-HTTP-Method-Override: GET\r\n";
    assert_eq!(send(address, "POST", "/users", override_, b"").await.status, 401);
    estate.close().await;
}
