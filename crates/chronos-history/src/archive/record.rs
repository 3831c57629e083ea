//! Records of the archive: each led by its version and a checksum over itself and its key.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The encoding; a change to a stored type changes it, and the archive's format with it.
const VERSION: u8 = 1;
const HEAD: usize = 1 + size_of::<u32>();

/// The bytes of a record under its key.
pub(super) fn encode<T: Serialize>(key: &[u8], value: &T) -> Result<Vec<u8>, String> {
    let head = [VERSION, 0, 0, 0, 0].to_vec();
    let mut bytes = postcard::to_extend(value, head)
        .map_err(|error| format!("a record cannot be written: {error}"))?;
    let sum = checksum(key, &bytes[HEAD..]);
    bytes[1..HEAD].copy_from_slice(&sum.to_be_bytes());
    Ok(bytes)
}

/// The record that these bytes are, if they are one and belong to this key.
pub(super) fn decode<T: DeserializeOwned>(key: &[u8], bytes: &[u8]) -> Result<T, String> {
    let (head, body) = bytes.split_at_checked(HEAD).ok_or("a record is cut short")?;
    let (version, sum) = (head[0], &head[1..]);
    if version != VERSION {
        return Err(format!("a record has version {version}, this program reads {VERSION}"));
    }
    if sum != checksum(key, body).to_be_bytes() {
        return Err("a record is not what was written".into());
    }
    postcard::from_bytes(body).map_err(|error| format!("a record cannot be read: {error}"))
}

fn checksum(key: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(body);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_that_were_changed_or_moved_are_refused() {
        let bytes = encode(b"key", &(42_u64, "text")).unwrap();
        assert_eq!(decode::<(u64, String)>(b"key", &bytes), Ok((42, "text".into())));
        assert!(decode::<(u64, String)>(b"other", &bytes).is_err());
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1;
            assert!(decode::<(u64, String)>(b"key", &flipped).is_err(), "at {place}");
        }
        for length in 0..bytes.len() {
            assert!(decode::<(u64, String)>(b"key", &bytes[..length]).is_err());
        }
    }
}
