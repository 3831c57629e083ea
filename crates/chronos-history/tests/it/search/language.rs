//! The query language, in tables: what is understood, and what is refused and why.

use chronos_core::schedule::Zone;
use chronos_history::search::{MAX_CHARS, MAX_CLAUSES, Query, QueryError};
use proptest::prelude::*;

#[test]
fn what_is_asked_for_in_different_words_is_the_same() {
    let parse = |text| Query::parse(text, Zone::UTC).unwrap();
    for (one, other) in [
        ("", "   "),
        ("invoice", "  INVOICE "),
        ("invoice-sync", r#""invoice sync""#),
        ("billing.internal", r#""Billing, internal""#),
        ("status:failed", "status:FAILED"),
        ("STATUS:failed", r#"status:"failed""#),
        ("job:invoice-sync", r#"job:"invoice sync""#),
        ("12:30", r#""12 30""#),
        (r#""say \"hello\"""#, r#""say hello""#),
        ("after:2026-11-01", "after:2026-10-01 after:2026-11-01T00:00:00Z"),
        ("before:2026-11-01", "before:2026-11-01T01:00:00+01:00 before:2026-11-01T02:00"),
        ("-word", r#"-"word""#),
        ("type:message", "type:MESSAGE"),
    ] {
        assert_eq!(parse(one), parse(other), "{one} and {other}");
    }
    for (one, other) in [
        ("invoice", "-invoice"),
        ("invoice sync", "invoice-sync"),
        ("status:failed", "failed"),
        ("after:2026-11-01", "before:2026-11-01"),
        ("job:invoice", "invoice"),
        ("type:schedule", "type:schedule.fired"),
        ("owner:ann", "owner:Ann"),
    ] {
        assert_ne!(parse(one), parse(other), "{one} and {other}");
    }
}

#[test]
fn what_cannot_be_understood_is_refused_with_its_place_and_what_is_accepted() {
    for (query, refusal) in [
        (
            "invoice state:failed",
            "unknown field \"state\" at character 9; the fields are job, status, owner, type, node, \
             reason, kind, after, before; put quotes around it to look for it as a phrase",
        ),
        (
            "https://billing.internal",
            "unknown field \"https\" at character 1; the fields are job, status, owner, type, node, \
             reason, kind, after, before; put quotes around it to look for it as a phrase",
        ),
        (
            "é status:broken",
            "status:broken at character 3 cannot be; status is one of success, failed, timed_out, \
             stuck, cancelled, skipped",
        ),
        (
            "kind:job",
            "kind:job at character 1 cannot be; kind is one of execution, audit, message, toc",
        ),
        (
            "-type:schedule.gone",
            "type:schedule.gone at character 1 cannot be; type is the type of an audit event such as \
             schedule.paused, message, toc.day and the like, or the part before the dot",
        ),
        (
            "after:yesterday",
            "after:yesterday at character 1 cannot be; after is a day such as 2026-11-01, a time on it \
             such as 2026-11-01T09:30, or an instant such as 2026-11-01T09:30:00Z",
        ),
        ("job:--", "job:-- at character 1 cannot be; job is the id of a job, or words of its name"),
        ("job:", "job: at character 1 is followed by nothing; write job:invoice-sync"),
        ("status: failed", "status: at character 1 is followed by nothing; write status:failed"),
        (r#"node:"""#, "node: at character 1 is followed by nothing; write node:node-1"),
        ("-before:2026-11-01", "-before: at character 1 cannot be negated; use after"),
        (r#"a "b c"#, "the quote that is opened at character 3 is never closed"),
        (r#"job:"b c"#, "the quote that is opened at character 5 is never closed"),
        (
            "a ***",
            "\"***\" at character 3 has nothing to look for: neither a letter nor a digit, or too many \
             of them in a row",
        ),
        (
            "a - b",
            "the - at character 3 is followed by nothing; write -word, -\"a phrase\" or -field:value",
        ),
    ] {
        let error = Query::parse(query, Zone::UTC).unwrap_err();
        assert_eq!(error.to_string(), refusal, "{query}");
    }
}

#[test]
fn queries_are_bounded() {
    let parse = |text: &str| Query::parse(text, Zone::UTC);
    assert!(parse(&"ä".repeat(MAX_CHARS)).is_err(), "it is too long for a word");
    assert!(parse(&format!("\"{}\"", "ä ".repeat(MAX_CHARS / 2 - 1))).is_ok());
    let given = MAX_CHARS + 1;
    assert_eq!(parse(&"ä".repeat(given)), Err(QueryError::TooLong { given }));
    assert_eq!(parse(&"x".repeat(given)), Err(QueryError::TooLong { given }));
    assert!(parse(&"w ".repeat(MAX_CLAUSES)).is_ok());
    let at = 2 * MAX_CLAUSES + 1;
    assert_eq!(parse(&"w ".repeat(MAX_CLAUSES + 1)), Err(QueryError::TooMany { at }));
}

proptest! {
    #[test]
    fn any_text_is_understood_or_refused(text in "\\PC{0,80}") {
        drop(Query::parse(&text, Zone::UTC));
    }

    #[test]
    fn anything_like_a_query_is_understood_or_refused(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("-".to_owned()), Just("\"".to_owned()), Just("\\".to_owned()), Just(" ".to_owned()),
                Just(":".to_owned()), Just("é".to_owned()), "[a-z]{1,6}:", "(after|before):[0-9T:Z+-]{0,20}",
                "(status|kind|type|job|node|owner|reason):[a-z._\"-]{0,12}", "[a-z]{1,5}",
            ],
            0..30,
        )
    ) {
        drop(Query::parse(&parts.concat(), Zone::UTC));
    }
}
