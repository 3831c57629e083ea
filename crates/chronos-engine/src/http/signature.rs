//! Signatures of requests, as Standard Webhooks 1.0.0 has them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// The signature of a message with this id, sent at this second of Unix time, with this body.
pub(super) fn sign(key: &[u8], id: &str, seconds: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{id}.{seconds}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign()))
}

#[cfg(test)]
mod tests {
    use chronos_core::http::signing_keys;

    use super::*;

    const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

    #[test]
    fn a_message_is_signed_as_the_specification_shows() {
        let key = signing_keys(SECRET).unwrap().remove(0);
        let body = br#"{"email":"test@example.com","username":"test_user"}"#;
        let signed = sign(&key, "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body);
        assert_eq!(signed, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn whatever_changes_changes_the_signature() {
        let key = signing_keys(SECRET).unwrap().remove(0);
        let signed = sign(&key, "a", 1, b"body");
        assert_ne!(signed, sign(&key, "b", 1, b"body"));
        assert_ne!(signed, sign(&key, "a", 2, b"body"));
        assert_ne!(signed, sign(&key, "a", 1, b"bod"));
        assert_ne!(signed, sign(&key[1..], "a", 1, b"body"));
    }
}
