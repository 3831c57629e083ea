//! What an http target refuses, and that nothing refused comes in by another way.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

const GOOD: &str = "https://example.com/hook?x=1";

fn good() -> Http {
    Http::new(GOOD).unwrap()
}

fn refused_field(result: Result<impl std::fmt::Debug, Error>) -> &'static str {
    match result {
        Err(Error::Http { field, .. }) => field,
        other => panic!("{other:?}"),
    }
}

fn text(result: Result<impl std::fmt::Debug, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_request_posts_within_thirty_seconds_unless_it_says_otherwise() {
    let http = good();
    assert_eq!((http.method(), http.timeout()), (Method::Post, Duration::from_secs(30)));
    assert!(http.headers().is_empty() && http.body().is_empty());
    for (status, is_success) in [(199, false), (200, true), (299, true), (300, false)] {
        assert_eq!(http.expects(status), is_success, "{status}");
    }
}

#[test]
fn expected_statuses_take_the_place_of_the_usual_ones() {
    let http = good().with_expected([404, 200, 404]).unwrap();
    assert_eq!(http.expected(), [200, 404]);
    assert!(http.expects(404) && http.expects(200) && !http.expects(201));
    for status in [0, 99, 100, 199, 600, u16::MAX] {
        assert_eq!(refused_field(good().with_expected([200, status])), "expected_statuses");
    }
}

#[test]
fn urls_of_other_schemes_are_refused() {
    for url in [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://127.0.0.1/",
        "dict://127.0.0.1:11211/",
        "ldap://example.com/",
        "unix:/run/docker.sock",
        "data:text/plain,hello",
        "javascript:alert(1)",
        "jar:http://example.com!/",
        "ws://example.com/",
    ] {
        let text = text(Http::new(url));
        assert!(text.starts_with("url is not accepted: its scheme is"), "{url}: {text}");
    }
}

#[test]
fn urls_that_cannot_be_sent_are_refused() {
    for url in [
        "",
        "/hook",
        "example.com",
        "http://",
        "http://[::1/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://:word@example.com/",
        "htt\np://example.com/",
        "http://example.com/\r\nX-Evil: 1",
        "http://example.com/\0",
        "http://exa\tmple.com/",
    ] {
        assert_eq!(refused_field(Http::new(url)), "url", "{url}");
    }
    let path = "x".repeat(Http::MAX_URL);
    assert_eq!(refused_field(Http::new(&format!("http://a/{path}"))), "url");
    let path = "ü".repeat(Http::MAX_URL / 2 - 10);
    assert_eq!(refused_field(Http::new(&format!("http://a/{path}"))), "url");
}

#[test]
fn a_refusal_never_tells_a_secret() {
    let password = text(Http::new("http://user:hunter2@example.com/?token=hunter2"));
    let scheme = text(Http::new("ftp://example.com/?token=hunter2"));
    let header = text(good().with_header("Authorization", "hunter2\r\n"));
    for text in [password, scheme, header] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    let http = good().with_header("Authorization", "hunter2").unwrap();
    assert!(!format!("{http:?}").contains("hunter2"));
}

#[test]
fn a_url_is_kept_in_its_normal_spelling() {
    for (given, kept) in [
        ("http://EXAMPLE.com:80", "http://example.com/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://example.com/a b?c d", "http://example.com/a%20b?c%20d"),
        ("http://example.com/%0d%0aX: 1", "http://example.com/%0d%0aX:%201"),
    ] {
        assert_eq!(Http::new(given).unwrap().url().as_str(), kept);
    }
}

#[test]
fn methods_are_known_in_any_case_and_no_others() {
    assert_eq!(Method::parse("patch"), Ok(Method::Patch));
    for name in ["", "TRACE", "CONNECT", "OPTIONS", "GET ", "GET /evil HTTP/1.1\r\n", "ＧＥＴ"] {
        let text = text(Method::parse(name));
        assert!(text.contains("use one of GET, POST, PUT, PATCH, DELETE, HEAD"), "{text}");
    }
}

#[test]
fn get_and_head_carry_no_body_in_whichever_order_they_are_given() {
    for method in [Method::Get, Method::Head] {
        let text = text(good().with_method(method).unwrap().with_body("x"));
        assert!(text.contains("carries none"), "{text}");
        assert_eq!(refused_field(good().with_body("x").unwrap().with_method(method)), "body");
        assert!(good().with_body("").unwrap().with_method(method).is_ok());
    }
    assert!(good().with_method(Method::Delete).unwrap().with_body("x").is_ok());
    assert!(good().with_body(vec![0; Http::MAX_BODY]).is_ok());
    assert_eq!(refused_field(good().with_body(vec![0; Http::MAX_BODY + 1])), "body");
}

#[test]
fn headers_that_could_split_or_frame_a_request_are_refused() {
    for name in ["", "X Y", "X:", "X\r\n", "Ü", "(x)", "X\0"] {
        assert_eq!(refused_field(good().with_header(name, "1")), "headers", "{name:?}");
    }
    for value in ["a\r\nX-Evil: 1", "a\rb", "a\nb", "a\0b", "\x7f", "é", "Ċč", "\u{1b}[31m"] {
        assert_eq!(refused_field(good().with_header("X-Note", value)), "headers", "{value:?}");
    }
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "CONNECTION",
        "Keep-Alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
        "Proxy-Authorization",
        "proxy-connection",
        "webhook-id",
        "Webhook-Signature",
        "Idempotency-Key",
        "Chronos-Fence",
        "traceparent",
    ] {
        let text = text(good().with_header(name, "1"));
        assert!(text.contains(name) && text.contains("set by the scheduler"), "{text}");
    }
    let http = good().with_header("X-Note", "tabs\tand \"quotes\"").unwrap();
    assert_eq!(http.headers()[0].value().plain(), Some("tabs\tand \"quotes\""));
    assert!(http.with_header("User-Agent", "mine").unwrap().with_header("Cookie", "a=b").is_ok());
}

#[test]
fn headers_are_bounded_one_by_one_and_together() {
    let mut http = good();
    for n in 0..Http::MAX_HEADERS {
        http = http.with_header(&format!("X-{n}"), "").unwrap();
    }
    assert_eq!(refused_field(http.with_header("X-One-More", "")), "headers");
    let room = Http::MAX_HEADER - "X-Long".len();
    let long = good().with_header("X-Long", &"v".repeat(room)).unwrap();
    assert_eq!(refused_field(good().with_header("X-Long", &"v".repeat(room + 1))), "headers");
    let mut full = long;
    for _ in 0..3 {
        full = full.with_header("X-Long", &"v".repeat(room)).unwrap();
    }
    assert_eq!(refused_field(full.with_header("X", "")), "headers");
}

#[test]
fn sealed_values_are_kept_and_never_shown() {
    let sealed = || Sealed::new("hunter2");
    let http = good().with_secret_header("Authorization", sealed()).unwrap();
    let http = http.signed_with_secret(sealed());
    assert_eq!(http.headers()[0].value().sealed().map(Sealed::as_str), Some("hunter2"));
    assert!(!format!("{http:?}").contains("hunter2"), "{http:?}");
    let bytes = postcard::to_stdvec(&http).unwrap();
    assert_eq!(postcard::from_bytes::<Http>(&bytes).unwrap(), http);
    assert_eq!(refused_field(good().with_secret_header("Host", sealed())), "headers");
    let long = Sealed::new(&"x".repeat(4 * Http::MAX_HEADER));
    assert_eq!(refused_field(good().with_secret_header("X-Long", long)), "headers");
}

#[test]
fn a_signing_secret_holds_a_key_of_a_fair_length() {
    let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let keys = signing_keys(secret).unwrap();
    assert_eq!((keys.len(), keys[0].len()), (1, 24));
    assert!(!format!("{:?}", good().signed_with(secret).unwrap()).contains("C2FV"));
    for secret in ["", "C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_", "whsec_aGk=", "whsec_$$$"] {
        let text = text(good().signed_with(secret));
        assert!(text.starts_with("signing_secret is not accepted: "), "{text}");
        assert!(text.contains("24 to 64 random bytes"), "{text}");
    }
}

#[test]
fn a_signing_key_has_24_to_64_bytes_and_not_one_less_or_more() {
    let secret = |length| format!("whsec_{}", STANDARD.encode(vec![7; length]));
    for length in [24, 32, 64] {
        assert_eq!(signing_keys(&secret(length)).unwrap()[0].len(), length);
        assert!(good().signed_with(&secret(length)).is_ok(), "{length}");
    }
    for length in [0, 23, 65, 1_024] {
        let text = text(good().signed_with(&secret(length)));
        assert!(text.contains(&format!("its key has {length} bytes")), "{text}");
        let beside = good().signed_with(&format!("{} {}", secret(24), secret(length)));
        assert_eq!(refused_field(beside), "signing_secret", "{length}");
    }
}

#[test]
fn a_signing_secret_is_two_while_one_takes_the_place_of_the_other() {
    let (new, old) =
        ("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", format!("whsec_{}", "A".repeat(32)));
    let keys = signing_keys(&format!("{new} {old}")).unwrap();
    assert_eq!(keys, [signing_keys(new).unwrap(), signing_keys(&old).unwrap()].concat());
    for refused in [format!("{new} {old} {new}"), format!("{new}  {old}"), format!("{new} x")] {
        let text = text(good().signed_with(&refused));
        assert!(text.starts_with("signing_secret is not accepted: "), "{text}");
        assert!(!text.contains("C2FV"), "{text}");
    }
}

#[test]
fn timeouts_are_bounded() {
    for timeout in [Duration::ZERO, Http::MAX_TIMEOUT + Duration::from_nanos(1), Duration::MAX] {
        assert_eq!(refused_field(good().with_timeout(timeout)), "timeout");
    }
    let text = text(good().with_timeout(Duration::ZERO));
    assert_eq!(text, "timeout is not accepted: it is 0ns; use 1ms to 3600s");
    assert!(good().with_timeout(Http::MIN_TIMEOUT).is_ok());
    for timeout in [Some(Duration::ZERO), Some(Duration::MAX)] {
        assert_eq!(refused_field(good().with_connect_timeout(timeout)), "connect_timeout");
        assert_eq!(refused_field(good().with_first_byte_timeout(timeout)), "first_byte_timeout");
    }
    let http = good().with_connect_timeout(Some(Http::MIN_TIMEOUT)).unwrap();
    assert_eq!(
        (http.connect_timeout(), http.first_byte_timeout()),
        (Some(Http::MIN_TIMEOUT), None)
    );
}

#[test]
fn a_damaged_record_cannot_smuggle_in_what_is_refused() {
    let http = good().with_method(Method::Get).unwrap().with_header("X-Note", "value").unwrap();
    let json = serde_json::to_string(&http).unwrap();
    assert_eq!(serde_json::from_str::<Http>(&json).unwrap(), http);
    for (from, to) in [
        ("https://example.com", "gopher://example.com"),
        ("X-Note", "Host"),
        ("\"value\"}", r#""v\r\nX-Evil: 1"}"#),
        ("\"secs\":30", "\"secs\":0"),
        ("\"body\":[]", "\"body\":[1]"),
        ("\"expected\":[]", "\"expected\":[7]"),
    ] {
        let forged = json.replacen(from, to, 1);
        assert_ne!(forged, json, "{from}");
        assert!(serde_json::from_str::<Http>(&forged).is_err(), "{forged}");
    }
}

proptest! {
    #[test]
    fn whatever_is_accepted_reads_back_the_same(
        url in "https?://[a-z]{1,8}(:[1-9][0-9]{0,3})?(/\\PC{0,20})?",
        name in "X-[A-Za-z-]{0,12}",
        value in "\\PC{0,40}",
        body in prop::collection::vec(any::<u8>(), 0..100),
        millis in 1_u64..3_600_000,
        expected in prop::collection::vec(200_u16..600, 0..5),
    ) {
        let built = Http::new(&url)
            .and_then(|http| http.with_header(&name, &value))
            .and_then(|http| http.with_body(body))
            .and_then(|http| http.with_timeout(Duration::from_millis(millis)))
            .and_then(|http| http.with_first_byte_timeout(Some(Duration::from_millis(millis))))
            .and_then(|http| http.with_expected(expected));
        if let Ok(http) = built {
            let bytes = postcard::to_stdvec(&http).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Http>(&bytes).unwrap(), http);
        }
    }
}
