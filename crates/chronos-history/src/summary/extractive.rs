//! The summarizer that is always there: it picks out what stands out, and says the same of the same.

use std::time::Duration;

use async_trait::async_trait;
use chronos_core::ExecutionId;

use super::words::{count, duration, number, times};
use super::{Summarizer, Unsaid};
use crate::digest::{Digest, JobDigest};
use crate::facts::{Failures, Spell};
use crate::moment::drafted as moment;
use crate::node::{Bullet, Node, Summary};
use crate::{Level, Period};

/// Failing jobs that a summary tells of one by one.
const FAILING: usize = 8;
/// Causes that a note names.
const CAUSES: usize = 3;
/// Runs that begin this late are told of.
const LATE: Duration = Duration::from_secs(5);
/// Runs that take this long are told of.
const LONG: Duration = Duration::from_secs(1);

/// Picks out what stands out, as a careful operator would note it down.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

#[async_trait]
impl Summarizer for Extractive {
    async fn summarize_events(&self, hour: Period, digest: &Digest) -> Result<Summary, Unsaid> {
        Ok(notes(hour, digest, &[]))
    }

    async fn summarize_children(
        &self,
        period: Period,
        digest: &Digest,
        children: &[Node],
    ) -> Result<Summary, Unsaid> {
        Ok(notes(period, digest, children))
    }
}

pub(super) fn notes(period: Period, digest: &Digest, children: &[Node]) -> Summary {
    let level = period.level();
    let mut bullets = vec![overall(digest)];
    bullets.extend(digest.most_failing.iter().take(FAILING).filter_map(|job| failing(level, job)));
    bullets.extend(others_failing(digest));
    bullets.extend(worst_child(children));
    bullets.extend(passed_over(digest));
    bullets.extend(longest(digest));
    bullets.extend(late(digest));
    Summary { bullets, keywords: keywords(digest) }
}

fn note(text: &str, evidence: Vec<ExecutionId>) -> Bullet {
    Bullet::drafted(text, evidence)
}

/// "1,204 runs of 37 jobs: 1,180 succeeded, 24 failed".
fn overall(digest: &Digest) -> Bullet {
    let endings = &digest.figures.endings;
    let jobs = count(digest.jobs, "job");
    if endings.total() == 0 {
        return note(&format!("no run of {jobs} came to its end"), Vec::new());
    }
    let parts = [
        (endings.success, "succeeded"),
        (endings.failed, "failed"),
        (endings.timed_out, "timed out"),
        (endings.stuck, "lost with their worker"),
        (endings.cancelled, "cancelled"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", number(count))).collect();
    let runs = count(endings.total(), "run");
    note(&format!("{runs} of {jobs}: {}", parts.join(", ")), Vec::new())
}

/// "invoice-sync failed 14 times between 02:10 and 02:55, all 503 from billing.internal; recovered 03:00".
fn failing(level: Level, job: &JobDigest) -> Option<Bullet> {
    let failures = job.facts.failures.as_ref()?;
    let spells = job.facts.spells(level);
    let often = job.facts.figures.endings.failures();
    let when = when(level, failures, spells.len());
    let (why, seen) = why(job, failures, often);
    let then = recovery(level, spells.last()?);
    let mut evidence = vec![failures.first.execution, failures.last.execution];
    evidence.extend(seen);
    let text = format!("{} failed {} {when}{why}; {then}", job.card.name, times(often));
    Some(note(&text, each_once(evidence)))
}

fn when(level: Level, failures: &Failures, spells: usize) -> String {
    let (first, last) = (moment(level, failures.first.at), moment(level, failures.last.at));
    match (first == last, spells) {
        (true, _) => format!("at {first}"),
        (false, 0 | 1) => format!("between {first} and {last}"),
        (false, spells) => format!("in {spells} spells between {first} and {last}"),
    }
}

/// What the failures came from, and where each cause was seen first.
fn why(job: &JobDigest, failures: &Failures, often: u64) -> (String, Vec<ExecutionId>) {
    let causes = failures.causes.by_count();
    let named: Vec<_> = causes.into_iter().take(CAUSES).collect();
    let seen = named.iter().map(|(_, _, first)| first.execution).collect();
    let host = job.card.host.as_deref();
    if let [(cause, count, _)] = named.as_slice()
        && *count == often
    {
        let all = if often > 1 { "all " } else { "" };
        return (format!(", {all}{}", cause.in_words(host)), seen);
    }
    let parts = named.iter().map(|(cause, count, _)| (*count, cause.in_words(host)));
    let mut parts: Vec<String> =
        parts.map(|(count, words)| format!("{}× {words}", number(count))).collect();
    let told = named.iter().fold(0_u64, |sum, (_, count, _)| count.saturating_add(sum));
    if told < often {
        parts.push(format!("{} for other reasons", number(often - told)));
    }
    (format!(": {}", parts.join(", ")), seen)
}

fn recovery(level: Level, spell: &Spell) -> String {
    let by_the_minute = matches!(level, Level::Hour | Level::Day);
    match (spell.recovered, by_the_minute) {
        (None, _) => "no success since".into(),
        (Some(at), true) if at == spell.to => "recovered within the minute".into(),
        (Some(at), false) if at == spell.to => "recovered within the hour".into(),
        (Some(at), true) => format!("recovered {}", moment(level, at)),
        (Some(at), false) => format!("recovered after {}", moment(level, at)),
    }
}

/// "3 further failures of other jobs".
fn others_failing(digest: &Digest) -> Option<Bullet> {
    let told = digest.most_failing.iter().take(FAILING);
    let told: u64 = told.map(|job| job.facts.figures.endings.failures()).sum();
    let rest = digest.figures.endings.failures().saturating_sub(told);
    (rest > 0)
        .then(|| note(&format!("{} of other jobs", count(rest, "further failure")), Vec::new()))
}

/// "Tuesday, 10 November 2026 was worst: 120 of the 200 failures".
fn worst_child(children: &[Node]) -> Option<Bullet> {
    let failures = |node: &Node| node.figures.endings.failures();
    let all: u64 = children.iter().map(failures).sum();
    // Of equals the first.
    let worst = children.iter().rev().max_by_key(|node| failures(node))?;
    let most = failures(worst);
    if children.len() < 2 || all < 2 || most * 2 < all {
        return None;
    }
    let evidence = worst.summary.bullets.iter().flat_map(|bullet| &bullet.evidence).take(2);
    let title = worst.period.title();
    let text = if most == all {
        format!("all {} failures fell into {title}", number(all))
    } else {
        format!("{} of {} failures fell into {title}", number(most), number(all))
    };
    Some(note(&text, evidence.copied().collect()))
}

/// "31 slots were passed over: 20 overlap, 11 quiet hours; most of backup (20)".
fn passed_over(digest: &Digest) -> Option<Bullet> {
    let slots = digest.figures.skipped();
    if slots == 0 {
        return None;
    }
    let mut reasons: Vec<_> = digest.figures.skips.iter().collect();
    reasons.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
    let reasons: Vec<String> = reasons
        .into_iter()
        .map(|(reason, slots)| format!("{} {}", number(*slots), reason.replace('_', " ")))
        .collect();
    let most = digest.most_skipped.first().filter(|_| digest.jobs > 1).map(|job| {
        format!("; most of {} ({})", job.card.name, number(job.facts.figures.skipped()))
    });
    let were = if slots == 1 { "was" } else { "were" };
    let (slots, reasons) = (count(slots, "slot"), reasons.join(", "));
    let text = format!("{slots} {were} passed over: {reasons}{}", most.unwrap_or_default());
    Some(note(&text, Vec::new()))
}

/// "the longest run was report-build's, 12 min 4 s; its p95 is 3 min".
fn longest(digest: &Digest) -> Option<Bullet> {
    let job = digest.slowest.first()?;
    let slowest = job.facts.slowest.filter(|slowest| slowest.took() >= LONG)?;
    let p95 = job.facts.figures.durations.quantile(0.95)?;
    let its_p95 = if job.facts.figures.durations.len() > 1 {
        format!("; its p95 is {}", duration(p95))
    } else {
        String::new()
    };
    let (name, took) = (&job.card.name, duration(slowest.took()));
    let text = format!("the longest run was one of {name}, {took}{its_p95}");
    Some(note(&text, vec![slowest.execution()]))
}

/// "runs began up to 42 s late, one in a hundred by more than 6.1 s".
fn late(digest: &Digest) -> Option<Bullet> {
    let lags = &digest.figures.lags;
    let (most, p99) = (lags.max()?, lags.quantile(0.99)?);
    (most >= LATE).then(|| {
        let text = format!("runs began up to {} late; p99 {}", duration(most), duration(p99));
        note(&text, Vec::new())
    })
}

/// Failing jobs, where they call, what they got, and why slots were passed over.
fn keywords(digest: &Digest) -> Vec<Box<str>> {
    let mut words: Vec<Box<str>> = Vec::new();
    let failing = &digest.most_failing;
    words.extend(failing.iter().map(|job| job.card.name.clone()));
    words.extend(failing.iter().filter_map(|job| job.card.host.clone()));
    for failures in failing.iter().filter_map(|job| job.facts.failures.as_ref()) {
        let causes = failures.causes.by_count();
        words.extend(causes.into_iter().take(1).map(|(cause, ..)| cause.keyword()));
    }
    words.extend(digest.figures.skips.keys().cloned());
    words.extend(digest.slowest.iter().take(1).map(|job| job.card.name.clone()));
    each_once(words)
}

fn each_once<T: PartialEq>(things: Vec<T>) -> Vec<T> {
    let mut once: Vec<T> = Vec::with_capacity(things.len());
    for thing in things {
        if !once.contains(&thing) {
            once.push(thing);
        }
    }
    once
}
