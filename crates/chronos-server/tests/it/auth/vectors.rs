//! Signatures: each way in which Project Wycheproof breaks a JSON web signature, done to a real token.
//!
//! Its vectors are for keys of their own, and a daemon knows one key alone; so these are the same
//! alterations, written by hand: of every bit of the signature, of its length, of the encoding of each
//! part, of the form of the whole, and of algorithms for other kinds of keys.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{STANDARD, URL_SAFE as PADDED, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use sha2::{Sha256, Sha384, Sha512};

use super::{Estate, KEY};

/// A real token in its parts.
struct Parts {
    header: String,
    claims: String,
    signature: Vec<u8>,
}

impl Parts {
    fn of(token: &str) -> Self {
        let parts: Vec<&str> = token.split('.').collect();
        let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        Self { header: parts[0].into(), claims: parts[1].into(), signature }
    }

    fn signed(&self, signature: &[u8]) -> String {
        format!("{}.{}.{}", self.header, self.claims, URL_SAFE_NO_PAD.encode(signature))
    }

    /// The claims under another header, signed as `sign` says.
    fn headed(&self, header: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
        let body = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), self.claims);
        let signature = sign(body.as_bytes());
        format!("{body}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn hs256(key: &[u8]) -> impl Fn(&[u8]) -> Vec<u8> {
    move |body| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(body);
        mac.finalize().into_bytes().to_vec()
    }
}

/// Every bit of the signature in turn, and every length that is not its own.
fn altered_signatures(parts: &Parts) -> Vec<String> {
    let signature = &parts.signature;
    let mut altered = Vec::new();
    for bit in 0..signature.len() * 8 {
        let mut flipped = signature.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        altered.push(parts.signed(&flipped));
    }
    for length in 0..signature.len() {
        altered.push(parts.signed(&signature[..length]));
    }
    altered.push(parts.signed(&[&signature[..], &[0]].concat()));
    altered.push(parts.signed(&[&signature[..], &signature[..]].concat()));
    altered.push(parts.signed(&[&[0], &signature[..]].concat()));
    altered.push(parts.signed(&signature.iter().map(|byte| !byte).collect::<Vec<_>>()));
    altered.push(parts.signed(&signature.iter().rev().copied().collect::<Vec<_>>()));
    for length in [0, 1, 20, 31, 32, 33, 48, 64, 96, 132, 256] {
        altered.extend([parts.signed(&vec![0; length]), parts.signed(&vec![0xff; length])]);
    }
    altered
}

/// The same bytes, spelt in ways that base64 for URLs does not have.
fn altered_encodings(parts: &Parts) -> Vec<String> {
    let Parts { header, claims, signature } = parts;
    let good = URL_SAFE_NO_PAD.encode(signature);
    let mut altered = Vec::new();
    for spelt in [PADDED.encode(signature), STANDARD.encode(signature), hex(signature)] {
        altered.push(format!("{header}.{claims}.{spelt}"));
    }
    for (place, extra) in
        [(0, " "), (0, "\t"), (5, " "), (5, "%2E"), (5, "="), (5, "\u{e9}"), (5, "~")]
    {
        let (before, after) = good.split_at(place);
        altered.push(format!("{header}.{claims}.{before}{extra}{after}"));
        let (before, after) = claims.split_at(place);
        altered.push(format!("{header}.{before}{extra}{after}.{good}"));
    }
    // The last letter of 32 bytes has two bits to spare; other bits there are another spelling.
    let lenient = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let lenient = GeneralPurpose::new(&URL_SAFE, lenient);
    let letters = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain(['-', '_']);
    let spare: Vec<String> = letters
        .map(|last| format!("{}{last}", &good[..good.len() - 1]))
        .filter(|spelt| *spelt != good && lenient.decode(spelt).as_ref() == Ok(signature))
        .collect();
    assert_eq!(spare.len(), 3, "the same bytes in three other spellings");
    altered.extend(spare.iter().map(|spelt| format!("{header}.{claims}.{spelt}")));
    altered
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The same content in other forms, and signatures for other kinds of keys.
fn altered_forms(parts: &Parts) -> Vec<String> {
    let Parts { header, claims, signature } = parts;
    let good = URL_SAFE_NO_PAD.encode(signature);
    let mut altered = vec![
        format!("{header}.{claims}"),
        format!("{header}.{claims}.{good}."),
        format!("{header}.{claims}..{good}"),
        format!("{header}..{good}"),
        format!(".{claims}.{good}"),
        format!("{claims}.{header}.{good}"),
        format!("{header}.{claims}.{good}.{good}.{good}"),
        format!("\"{header}.{claims}.{good}\""),
        format!(r#"{{"payload":"{claims}","protected":"{header}","signature":"{good}"}}"#),
        format!(
            r#"{{"payload":"{claims}","signatures":[{{"protected":"{header}","signature":"{good}"}}]}}"#
        ),
    ];
    for spelt in [
        r#"{"alg":"HS256","typ":"JWT"}"#,
        r#"{"typ":"JWT", "alg":"HS256"}"#,
        r#"{"typ":"JWT","alg":"HS256","alg":"none"}"#,
        r#"{"alg":"none","typ":"JWT","alg":"HS256"}"#,
        r#"{"typ":"JWT","alg":["HS256"]}"#,
        r#"{"typ":"JWT","alg":{"HS256":true}}"#,
        r#"{"typ":"JWT","ALG":"HS256"}"#,
        r#"{"typ":"JWT","alg":"HS256\u0000"}"#,
        r#"{"typ":"JWT","\u0061lg":"HS256"}"#,
        r#"{"typ":"JWT","alg":"HS256","enc":"A128GCM","zip":"DEF"}"#,
    ] {
        altered.push(parts.headed(spelt, hs256(KEY)));
    }
    let (empty, zeros): (&[u8], _) = (b"", [0; 32]);
    for key in [empty, &zeros, &KEY[1..], &[&KEY[..], b"x"].concat()] {
        altered.push(parts.headed(r#"{"typ":"JWT","alg":"HS256"}"#, hs256(key)));
    }
    let hs384 = |body: &[u8]| {
        let mut mac = Hmac::<Sha384>::new_from_slice(KEY).unwrap();
        mac.update(body);
        mac.finalize().into_bytes().to_vec()
    };
    let hs512 = |body: &[u8]| {
        let mut mac = Hmac::<Sha512>::new_from_slice(KEY).unwrap();
        mac.update(body);
        mac.finalize().into_bytes().to_vec()
    };
    altered.push(parts.headed(r#"{"typ":"JWT","alg":"HS384"}"#, hs384));
    altered.push(parts.headed(r#"{"typ":"JWT","alg":"HS512"}"#, hs512));
    altered.push(parts.headed(r#"{"typ":"JWT","alg":"HS256"}"#, hs384));
    for (alg, length) in
        [("ES256", 64), ("ES384", 96), ("ES512", 132), ("PS256", 256), ("EdDSA", 64)]
    {
        let header = format!(r#"{{"typ":"JWT","alg":"{alg}"}}"#);
        // Zeros passed for a signature by elliptic curves where nobody looked.
        altered.push(parts.headed(&header, |_| vec![0; length]));
    }
    altered
}

#[tokio::test]
async fn no_altered_signature_is_taken() {
    let (estate, ada) = Estate::open().await;
    let real = ada.token.clone().unwrap();
    let parts = Parts::of(&real);
    let again = parts.headed(r#"{"typ":"JWT","alg":"HS256"}"#, hs256(KEY));
    assert_eq!(
        (&parts.signed(&parts.signature), &again),
        (&real, &real),
        "what is altered is good"
    );
    let altered =
        [altered_signatures(&parts), altered_encodings(&parts), altered_forms(&parts)].concat();
    assert!(altered.len() > 300, "{}", altered.len());
    for token in altered {
        // A blank at the end of a header is no part of its value.
        assert_ne!(token.trim(), real);
        let answer = ada.with_token(&*token).get("/jobs").await;
        assert_eq!(answer.status, 401, "{token}");
    }
    ada.get("/jobs").await.expect(200);
    estate.close().await;
}
