//! Cron expressions against what independent implementations make of them.

#![expect(clippy::unwrap_used, reason = "a broken fixture should stop the test")]

use std::collections::BTreeMap;

use chronos_core::Timestamp;
use chronos_core::schedule::{Cron, CronError, Zone};
use serde::Deserialize;

const VECTORS: &str = include_str!("../fixtures/cron_vectors.jsonl");
const DECISIONS: &str = include_str!("../fixtures/cron_decisions.txt");

#[derive(Deserialize)]
struct Vector {
    id: String,
    tier: String,
    kind: String,
    expr: String,
    dialect: String,
    dom_dow: Option<String>,
    tz: Option<String>,
    from: Option<String>,
    at: Option<String>,
    #[serde(default)]
    expected: Vec<String>,
    #[serde(default)]
    must_not: Vec<String>,
    #[serde(default)]
    alternatives: Vec<Alternative>,
    #[serde(rename = "match")]
    matches: Option<bool>,
    equal_to: Option<String>,
}

#[derive(Deserialize)]
struct Alternative {
    expected: serde_json::Value,
    by: Vec<String>,
}

/// What we decided about a vector.
enum Decision {
    /// The vector follows another rule than ours.
    Otherwise,
    /// Implementations disagree, and ours goes with this one.
    With(String),
}

#[test]
fn every_vector_passes_or_is_decided_otherwise_with_a_reason() {
    let mut decisions = decisions();
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in VECTORS.lines() {
        let vector: Vector = serde_json::from_str(line).unwrap();
        let decision = decisions.remove(&vector.id);
        let count = counts.entry(vector.tier.clone()).or_default();
        count[usize::from(matches!(decision, Some(Decision::Otherwise)))] += 1;
        match (check(&vector, decision.as_ref()), decision) {
            (Ok(()), Some(Decision::Otherwise)) => {
                wrong.push(format!("{} passes, yet is listed as decided otherwise", vector.id));
            }
            (Err(why), None | Some(Decision::With(_))) => {
                wrong.push(format!("{} [{}] {:?}: {why}", vector.id, vector.tier, vector.expr));
            }
            (Ok(()), None | Some(Decision::With(_))) | (Err(_), Some(Decision::Otherwise)) => {}
        }
    }
    for (tier, [passed, otherwise]) in &counts {
        println!("tier {tier}: {passed} pass, {otherwise} decided otherwise");
    }
    assert!(wrong.is_empty(), "{} vectors:\n{}", wrong.len(), wrong.join("\n"));
    assert!(decisions.is_empty(), "decided, but no vector: {:?}", decisions.keys());
    assert_eq!(counts["A"][1], 0, "what everyone agrees on is ours too");
}

fn decisions() -> BTreeMap<String, Decision> {
    let lines = DECISIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let (id, verdict) = (words.next().unwrap(), words.next().unwrap());
            assert!(words.next().is_some_and(|why| why.len() > 10), "a reason is owed: {line}");
            let decision = match verdict {
                "otherwise" => Decision::Otherwise,
                held_by => Decision::With(held_by.into()),
            };
            (id.into(), decision)
        })
        .collect()
}

fn check(vector: &Vector, decision: Option<&Decision>) -> Result<(), String> {
    let cron = parse(vector, &vector.expr);
    match vector.kind.as_str() {
        "valid" => cron.map(drop).map_err(|error| error.to_string()),
        "invalid" => match cron {
            Err(_) => Ok(()),
            Ok(cron) => Err(format!("accepted: {}", cron.describe())),
        },
        "never" => match cron {
            Err(CronError::NeverFires { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
            Ok(cron) => same(&slots(&cron, from(vector), 1), &Vec::new()),
        },
        "match" => {
            let at = instant(vector.at.as_deref().unwrap());
            let matches = cron.map_err(|error| error.to_string())?.matches(at);
            same(&matches, &vector.matches.unwrap())
        }
        "equal" => {
            let other = parse(vector, vector.equal_to.as_deref().unwrap());
            let start = instant("2023-12-31T23:59:59Z");
            same(
                &slots(&cron.map_err(|error| error.to_string())?, start, 500),
                &slots(&other.map_err(|error| error.to_string())?, start, 500),
            )
        }
        "must_not" => {
            let next = slots(&cron.map_err(|error| error.to_string())?, from(vector), 1);
            let forbidden = vector.must_not.iter().any(|text| next.contains(&instant(text)));
            if forbidden { Err(format!("next is {next:?}")) } else { Ok(()) }
        }
        "next" => expect(&cron.map_err(|error| error.to_string())?, vector, &vector.expected),
        "policy_split" => {
            let Some(Decision::With(holder)) = decision else {
                return Err("a split needs the alternative that our rule gives".into());
            };
            let ours = vector.alternatives.iter().find(|held| held.by.contains(holder)).unwrap();
            let expected: Vec<String> = serde_json::from_value(ours.expected.clone()).unwrap();
            expect(&cron.map_err(|error| error.to_string())?, vector, &expected)
        }
        other => Err(format!("unknown kind {other}")),
    }
}

fn expect(cron: &Cron, vector: &Vector, expected: &[String]) -> Result<(), String> {
    let expected: Vec<_> = expected.iter().map(|text| instant(text)).collect();
    same(&slots(cron, from(vector), expected.len()), &expected)
}

fn same<T: PartialEq + std::fmt::Debug>(ours: &T, expected: &T) -> Result<(), String> {
    if ours == expected { Ok(()) } else { Err(format!("ours {ours:?}, expected {expected:?}")) }
}

fn slots(cron: &Cron, after: Timestamp, count: usize) -> Vec<Timestamp> {
    let next = |slot: &Timestamp| cron.next_after(*slot);
    std::iter::successors(cron.next_after(after), next).take(count).collect()
}

fn parse(vector: &Vector, expression: &str) -> Result<Cron, CronError> {
    let zone = Zone::parse(vector.tz.as_deref().unwrap_or("UTC")).unwrap();
    let mut expression = expression.to_string();
    if vector.dialect == "quartz" {
        expression = from_quartz(&expression);
    }
    if vector.dom_dow.as_deref() == Some("and") {
        expression = with_weekday(&expression, |weekday| format!("+{weekday}"));
    }
    Cron::parse(&expression, zone)
}

/// Quartz counts weekdays from 1, Sunday, and says `L` for Saturday; all else means the same.
fn from_quartz(expression: &str) -> String {
    with_weekday(expression, |weekday| {
        let parts = weekday.split(',').map(|part| {
            let cut = part.find(['#', '/', 'L']).unwrap_or(part.len());
            let (days, rest) = part.split_at(cut);
            if part == "L" {
                return "6".into();
            }
            let days: Vec<String> = days.split('-').map(one_less).collect();
            format!("{}{rest}", days.join("-"))
        });
        parts.collect::<Vec<_>>().join(",")
    })
}

fn one_less(day: &str) -> String {
    match day.parse::<u8>() {
        Ok(day) => day.checked_sub(1).map_or("invalid".into(), |day| day.to_string()),
        Err(_) => day.into(),
    }
}

fn with_weekday(expression: &str, change: impl Fn(&str) -> String) -> String {
    let mut fields: Vec<String> = expression.split_whitespace().map(Into::into).collect();
    let place = if fields.len() == 5 { 4 } else { 5 };
    if let Some(weekday) = fields.get_mut(place) {
        *weekday = change(weekday);
    }
    fields.join(" ")
}

fn from(vector: &Vector) -> Timestamp {
    instant(vector.from.as_deref().unwrap())
}

fn instant(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap_or_else(|| panic!("{text} is no instant"))
}
