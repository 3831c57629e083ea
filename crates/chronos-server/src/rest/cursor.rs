//! Cursors: where the next page goes on, in a form that only a list of the same kind takes back.

use std::fmt::Display;
use std::hash::{Hash, Hasher};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use siphasher::sip::SipHasher13;

use crate::problem::Problem;

const USUAL: usize = 100;
const MOST: usize = 1_000;

/// The cursor that leads on from this id in a list of what was asked for.
pub(super) fn write(asked: &impl Hash, id: &[u8; 16]) -> String {
    let mut bytes = id.to_vec();
    bytes.extend_from_slice(&seal(asked, id));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The id that the cursor leads on from; refused unless it came from the same list.
pub(super) fn read(asked: &impl Hash, cursor: Option<&str>) -> Result<Option<[u8; 16]>, Problem> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
    match bytes.split_first_chunk::<16>() {
        Some((id, sealed)) if *sealed == seal(asked, id) => Ok(Some(*id)),
        _ => Err(Problem::bad_parameter(
            "cursor",
            "it is no cursor of this list; use next_cursor of the page before with the same filters",
        )),
    }
}

/// Ties the id to the list that it is a place in.
fn seal(asked: &impl Hash, id: &[u8; 16]) -> [u8; 8] {
    let mut hasher = SipHasher13::new();
    asked.hash(&mut hasher);
    hasher.write(id);
    hasher.finish().to_be_bytes()
}

/// How many items a page may hold.
pub(super) fn limit(asked: Option<&str>) -> Result<usize, Problem> {
    let Some(asked) = asked else {
        return Ok(USUAL);
    };
    let refused = |given: &dyn Display| {
        Problem::bad_parameter("limit", format!("{given} is not accepted; use 1 to {MOST}"))
    };
    match asked.parse::<usize>() {
        Ok(limit) if (1..=MOST).contains(&limit) => Ok(limit),
        Ok(limit) => Err(refused(&limit)),
        Err(_) => {
            let shown: String = asked.chars().take(30).collect();
            Err(refused(&format!("{shown:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place_in_its_own_list_alone() {
        let cursor = write(&"jobs", &[7; 16]);
        assert_eq!(read(&"jobs", Some(&cursor)), Ok(Some([7; 16])));
        assert_eq!(read(&"jobs", None), Ok(None));
        assert!(read(&"dead letters", Some(&cursor)).is_err());
        for (place, _) in cursor.char_indices() {
            let mut forged = cursor.clone();
            let other = if &forged[place..=place] == "A" { "B" } else { "A" };
            forged.replace_range(place..=place, other);
            assert!(read(&"jobs", Some(&forged)).is_err(), "{forged}");
        }
        for forged in ["", "x", "\u{e9}", &cursor[1..], &format!("{cursor}A")] {
            assert!(read(&"jobs", Some(forged)).is_err(), "{forged}");
        }
    }

    #[test]
    fn limits_are_kept_to() {
        for (asked, limit) in [(None, Ok(100)), (Some("1"), Ok(1)), (Some("1000"), Ok(1_000))] {
            assert_eq!(self::limit(asked), limit);
        }
        for asked in ["0", "1001", "1e9", "99999999999999999999999", "-1", ""] {
            let problem = serde_json::to_value(limit(Some(asked)).unwrap_err()).unwrap();
            assert_eq!(problem["errors"][0]["field"], "limit", "{asked}");
        }
    }
}
