//! Input that is refused: in one line, that names the argument and what is accepted.

use crate::refusal;

const SPANS: &str = "seconds such as 90, or a duration such as 30s, 5m, 1h30m or 2d";

#[test]
fn a_bad_expression_is_refused_by_both_commands() {
    for expression in
        ["", "61 * * * *", "* * *", "not a cron", "@fortnightly", "0 0 30 2\n*\u{1b}["]
    {
        for command in ["next", "describe"] {
            let error = refusal(&[command, expression]);
            assert!(error.starts_with("error: EXPR: "), "{error}");
            assert!(!error.contains('\u{1b}'), "{error}");
        }
    }
}

#[test]
fn an_expression_that_never_fires_is_refused_by_name() {
    let error = refusal(&["next", "0 0 30 2 *"]);
    assert!(error.starts_with("error: EXPR: ") && error.contains("\"0 0 30 2 *\""), "{error}");
}

#[test]
fn an_expression_whose_years_are_over_is_refused() {
    let error = refusal(&["next", "0 0 9 1 1 * 2020", "--from", "2026-01-01T00:00:00Z"]);
    assert!(error.starts_with("error: EXPR: "), "{error}");
    assert!(error.contains("no run after 2026-01-01T00:00:00Z"), "{error}");
}

#[test]
fn an_unknown_zone_is_named() {
    for command in ["next", "describe"] {
        let error = refusal(&[command, "@daily", "--tz", "Mars/Olympus"]);
        assert!(error.starts_with("error: --tz: unknown time zone \"Mars/Olympus\""), "{error}");
        assert!(error.contains("IANA names such as Europe/Berlin"), "{error}");
    }
}

#[test]
fn a_bad_instant_is_named_with_an_example() {
    for from in ["tomorrow", "2026-03-28", "2026-03-28T00:00:00", "2026-02-30T00:00:00Z", ""] {
        let error = refusal(&["next", "@daily", "--from", from]);
        let expected =
            format!("error: --from: \"{from}\" is not an instant; use RFC 3339 such as ");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn counts_and_seconds_outside_their_bounds_are_refused() {
    for (option, value, accepted) in [
        ("-n", "0", "a whole number from 1 to 1000"),
        ("-n", "1001", "a whole number from 1 to 1000"),
        ("-n", "-1", "a whole number from 1 to 1000"),
        ("-n", "many", "a whole number from 1 to 1000"),
        ("--jitter", "-1", SPANS),
        ("--jitter", "1.5", SPANS),
    ] {
        let error = refusal(&["next", "@daily", option, value]);
        let expected = format!("error: {option}: \"{value}\" is not accepted; use {accepted}\n");
        assert_eq!(error, expected);
    }
    for every in ["0", "-5", "1.5", "3162240001", "99999999999999999999"] {
        let error = refusal(&["next", "--every", every]);
        let accepted = format!("{SPANS}, from 1 second to 100 years");
        let expected = format!("error: --every: \"{every}\" is not accepted; use {accepted}\n");
        assert_eq!(error, expected);
    }
}

#[test]
fn a_slip_in_the_grammar_is_told_with_a_way_out() {
    for (args, hint) in [
        (&["next"][..], "<EXPR|--every <SPAN>>"),
        (&["next", "@daily", "--every", "5"], "cannot be used with '--every <SPAN>'"),
        (&["next", "0", "9", "*"], "needs quotes, as in chronos next '0 9 * * 1-5'"),
        (&["next", "@daily", "--timezone", "UTC"], "'--tz'"),
        (&["nxt"], "'next'"),
        (&["completions", "tcsh"], "[possible values: bash, "),
        (&["man", "serv"], "use one of serve, next, describe, "),
    ] {
        let error = refusal(args);
        assert!(error.contains(hint), "{args:?}: {error}");
    }
}
