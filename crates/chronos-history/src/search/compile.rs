//! Queries as the engine takes them, with who asks in every one of them.

use std::collections::BTreeMap;

use tantivy::query::{
    AllQuery, Bm25StatisticsProvider, BooleanQuery, BoostQuery, ConstScoreQuery, EnableScoring,
    Occur, PhraseQuery, Query as Compiled, TermQuery, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use super::query::{Clause, Query, What};
use super::schema::{Fields, Tag};
use crate::Shelf;

/// What a word counts for where it is found.
const IN_NAMES: f32 = 2.0;
const IN_TEXTS: f32 = 2.0;
const IN_OUTPUT: f32 = 1.0;

/// A query as the engine takes it.
pub(super) struct Plan {
    compiled: BooleanQuery,
}

impl Plan {
    /// What a query asks for, as far as whoever has this shelf may see it.
    pub(super) fn of(query: &Query, shelf: Shelf<'_>, fields: &Fields) -> Self {
        let tagged = |tag| exactly(fields.tagged(tag));
        let mut parts: Vec<(Occur, Box<dyn Compiled>)> = match shelf {
            Shelf::Everyone => vec![(Occur::MustNot, tagged(Tag::Private))],
            Shelf::Owner(owner) => vec![(Occur::Must, tagged(Tag::Owner(owner)))],
        };
        let mut alternatives: BTreeMap<u8, Vec<Box<dyn Compiled>>> = BTreeMap::new();
        for Clause { negated, what } in &query.clauses {
            let compiled = compile(what, fields);
            if *negated {
                parts.push((Occur::MustNot, compiled));
            } else if let Some(group) = group(what) {
                alternatives.entry(group).or_default().push(compiled);
            } else {
                parts.push((Occur::Must, compiled));
            }
        }
        for any in alternatives.into_values() {
            parts.push((Occur::Must, union(any)));
        }
        if parts.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            parts.push((Occur::Must, Box::new(ConstScoreQuery::new(Box::new(AllQuery), 0.0))));
        }
        Self { compiled: BooleanQuery::new(parts) }
    }

    /// The plan for what a searcher sees; graded by how well documents fit, if that is asked for.
    pub(super) fn weight(
        &self,
        searcher: &Searcher,
        graded: bool,
    ) -> tantivy::Result<Box<dyn Weight>> {
        self.compiled.weight(if graded {
            EnableScoring::enabled_from_statistics_provider(&Steady, searcher)
        } else {
            EnableScoring::disabled_from_searcher(searcher)
        })
    }
}

/// Fields of which any value is asked for where several are given; words are asked for one and all.
fn group(what: &What) -> Option<u8> {
    match what {
        What::Words(_) => None,
        What::Job(_) | What::JobNamed(_) => Some(0),
        What::Node(_) => Some(1),
        What::Status(_) => Some(2),
        What::Owner(_) => Some(3),
        What::Type(_) => Some(4),
        What::Reason(_) => Some(5),
        What::Kind(_) => Some(6),
    }
}

fn compile(what: &What, fields: &Fields) -> Box<dyn Compiled> {
    let tagged = |tag| exactly(fields.tagged(tag));
    match what {
        What::Words(words) => {
            let places =
                [(fields.name, IN_NAMES), (fields.text, IN_TEXTS), (fields.output, IN_OUTPUT)];
            let in_each = places.map(|(field, weight)| -> Box<dyn Compiled> {
                Box::new(BoostQuery::new(phrase(field, words), weight))
            });
            union(in_each.into())
        }
        What::JobNamed(words) => ungraded(phrase(fields.name, words)),
        What::Node(words) => ungraded(phrase(fields.node, words)),
        What::Job(job) => tagged(Tag::Job(&job.to_string())),
        What::Status(status) => tagged(Tag::Status(status)),
        What::Owner(owner) => tagged(Tag::Owner(owner)),
        What::Type(types) => union(types.iter().map(|event| tagged(Tag::Type(event))).collect()),
        What::Reason(reason) => tagged(Tag::Reason(reason)),
        What::Kind(kind) => tagged(Tag::Kind(kind.as_str())),
    }
}

fn exactly(term: Term) -> Box<dyn Compiled> {
    ungraded(Box::new(TermQuery::new(term, IndexRecordOption::Basic)))
}

fn ungraded(query: Box<dyn Compiled>) -> Box<dyn Compiled> {
    Box::new(ConstScoreQuery::new(query, 0.0))
}

fn union(mut any: Vec<Box<dyn Compiled>>) -> Box<dyn Compiled> {
    match (any.pop(), any.is_empty()) {
        (Some(only), true) => only,
        (last, _) => {
            any.extend(last);
            Box::new(BooleanQuery::union(any))
        }
    }
}

/// Words that follow each other in a field.
fn phrase(field: Field, words: &[String]) -> Box<dyn Compiled> {
    let mut terms: Vec<Term> =
        words.iter().map(|word| Term::from_field_text(field, word)).collect();
    match (terms.pop(), terms.is_empty()) {
        (Some(only), true) => Box::new(TermQuery::new(only, IndexRecordOption::WithFreqs)),
        (last, _) => {
            terms.extend(last);
            Box::new(PhraseQuery::new(terms))
        }
    }
}

/// The same figures of every index, so that how well a document fits follows from it and the query alone. All
/// words are asked for, so how rare each of them is would tell documents apart little anyway.
struct Steady;

impl Bm25StatisticsProvider for Steady {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        // A document has sixteen words or so.
        Ok(16_000_000)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(1_000_000)
    }

    fn doc_freq(&self, _: &Term) -> tantivy::Result<u64> {
        Ok(1_000)
    }
}
