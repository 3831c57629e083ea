//! Names in several scripts: rules know one by all its spellings.

use super::*;

/// Spellings of one name.
const BOOKS: [&str; 8] = [
    "bücher.example",
    "BÜCHER.Example",
    "bu\u{308}cher.example",
    "bücher。example",
    "ｂücher.example",
    "b%C3%BCcher.example",
    "xn--bcher-kva.example",
    "XN--BCHER-KVA.EXAMPLE.",
];

/// Names that only look like it.
const NOT_BOOKS: [&str; 5] = [
    "bucher.example",
    // Its x is of another script.
    "bücher.e\u{445}ample",
    "xn--bcher-kva.example.evil.example",
    "evil-xn--bcher-kva.example",
    "www.bücher.example",
];

#[test]
fn a_name_is_allowed_in_each_of_its_spellings_and_no_other_is() {
    let inside = IpAddr::V4(Ipv4Addr::LOCALHOST);
    // What a request names is the host of its URL.
    let admits = |reach: &Reach, name: &str| {
        let url = Url::parse(&format!("http://{name}/")).unwrap();
        reach.check_url(&url).unwrap();
        reach.check(url.host_str().unwrap(), inside, 80).is_ok()
    };
    for rule in BOOKS {
        let some = reach(&[rule]);
        assert_eq!(rule.parse::<Rule>().unwrap().to_string(), "xn--bcher-kva.example");
        for name in BOOKS {
            assert!(admits(&some, name), "{name} by {rule}");
        }
        for name in NOT_BOOKS {
            assert!(!admits(&some, name), "{name} by {rule}");
        }
    }
}

#[test]
fn a_name_is_denied_in_each_of_its_spellings_and_no_other_is() {
    for rule in BOOKS {
        for port in ["", ":80"] {
            let some = denying(&[], &[&format!("{rule}{port}")]);
            for name in BOOKS {
                assert!(!admits(&some, &format!("http://{name}/")), "{name} by {rule}{port}");
            }
            for name in NOT_BOOKS {
                assert!(admits(&some, &format!("http://{name}/")), "{name} by {rule}{port}");
            }
        }
    }
}
