//! The schema: what is looked up, what is counted and what is shown of a document, and how text becomes words.

use tantivy::Term;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{
    LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer, TokenStream as _,
};

/// Bytes of a word at most; longer ones are no words.
const LONGEST_WORD: usize = 100;
/// The name of the way in which text becomes words.
pub(super) const WORDS: &str = "words";
/// Of everything that is exact, as it is.
const AS_IT_IS: &str = "raw";

/// The columns that are read by their names.
pub(super) const AT: &str = "at";
pub(super) const PLACE: &str = "place";

/// The fields of the index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    /// When it happened, in microseconds: what results are sorted by, and bounded by.
    pub(super) at: Field,
    /// Tells documents of one instant apart; of all, each has its own.
    pub(super) place: Field,
    /// What people call the job, or the period.
    pub(super) name: Field,
    /// What was said about it: errors, summaries, messages, notes.
    pub(super) text: Field,
    /// What it left behind: logs and bodies.
    pub(super) output: Field,
    /// The node.
    pub(super) node: Field,
    /// Everything that is exact, each led by a letter that says what it is.
    pub(super) tags: Field,
    /// Under what a document is found that may be replaced.
    pub(super) key: Field,
    /// What is shown of it.
    pub(super) record: Field,
}

/// Something exact about a document.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tag<'a> {
    Kind(&'a str),
    Status(&'a str),
    Type(&'a str),
    Owner(&'a str),
    Reason(&'a str),
    Job(&'a str),
    /// It is a node on an owner's shelf, which says again what everyone's says.
    Private,
}

impl Tag<'_> {
    pub(super) fn encode(self) -> String {
        let (letter, value) = match self {
            Self::Kind(kind) => ('k', kind),
            Self::Status(status) => ('s', status),
            Self::Type(event) => ('t', event),
            Self::Owner(owner) => ('o', owner),
            Self::Reason(reason) => ('r', reason),
            Self::Job(job) => ('j', job),
            Self::Private => ('p', ""),
        };
        format!("{letter}{value}")
    }
}

impl Fields {
    pub(super) fn build() -> (Schema, Self) {
        let mut schema = Schema::builder();
        let column = || NumericOptions::default().set_fast();
        let words = || {
            let indexing = TextFieldIndexing::default().set_tokenizer(WORDS);
            let indexing = indexing.set_index_option(IndexRecordOption::WithFreqsAndPositions);
            TextOptions::default().set_indexing_options(indexing)
        };
        let exact = || {
            let indexing = TextFieldIndexing::default().set_tokenizer(AS_IT_IS);
            let indexing =
                indexing.set_index_option(IndexRecordOption::Basic).set_fieldnorms(false);
            TextOptions::default().set_indexing_options(indexing)
        };
        let fields = Self {
            at: schema.add_i64_field(AT, column()),
            place: schema.add_u64_field(PLACE, column()),
            name: schema.add_text_field("name", words()),
            text: schema.add_text_field("text", words()),
            output: schema.add_text_field("output", words()),
            node: schema.add_text_field("node", words()),
            tags: schema.add_text_field("tags", exact()),
            key: schema.add_text_field("key", exact()),
            record: schema.add_bytes_field("record", BytesOptions::default().set_stored()),
        };
        (schema.build(), fields)
    }

    pub(super) fn tagged(&self, tag: Tag<'_>) -> Term {
        Term::from_field_text(self.tags, &tag.encode())
    }
}

/// How text becomes words: runs of letters and digits, in lower case.
pub(super) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(LONGEST_WORD))
        .filter(LowerCaser)
        .build()
}

/// The words of a text, as they are indexed.
pub(super) fn words_of(text: &str) -> Vec<String> {
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    let mut words = Vec::new();
    while stream.advance() {
        words.push(stream.token().text.clone());
    }
    words
}
