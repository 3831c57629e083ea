//! What can be wrong with a query: where, and what would be accepted there.

use super::{Field, MAX_CHARS, MAX_CLAUSES};

/// A query that cannot be understood, and why. Places are counted in characters, from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It is too long.
    #[error("the query has {given} characters; {MAX_CHARS} are accepted at most")]
    TooLong {
        /// How long it is.
        given: usize,
    },
    /// It asks for too many things.
    #[error(
        "the query asks for too much at character {at}; \
         {MAX_CLAUSES} words, phrases and fields are accepted at most"
    )]
    TooMany {
        /// Where the first begins that is too many.
        at: usize,
    },
    /// It has a field that there is none of.
    #[error(
        "unknown field {given:?} at character {at}; the fields are {}; \
         put quotes around it to look for it as a phrase",
        Field::names()
    )]
    UnknownField {
        /// Where it begins.
        at: usize,
        /// The field, shortened if it is long.
        given: String,
    },
    /// A field is not told what to be.
    #[error("{field}: at character {at} is followed by nothing; write {field}:{}", .field.example())]
    NoValue {
        /// Where it begins.
        at: usize,
        /// The field.
        field: Field,
    },
    /// A field cannot be this.
    #[error("{field}:{given} at character {at} cannot be; {field} is {}", .field.accepts())]
    BadValue {
        /// Where it begins.
        at: usize,
        /// The field.
        field: Field,
        /// What it was to be, shortened if it is long.
        given: String,
    },
    /// A bound in time is negated.
    #[error("-{field}: at character {at} cannot be negated; use {}", .instead)]
    Bound {
        /// Where it begins.
        at: usize,
        /// The field.
        field: Field,
        /// The field that says it.
        instead: Field,
    },
    /// A phrase has no end.
    #[error("the quote that is opened at character {at} is never closed")]
    Unclosed {
        /// Where it begins.
        at: usize,
    },
    /// There is nothing in it that could be found.
    #[error(
        "{given:?} at character {at} has nothing to look for: \
         neither a letter nor a digit, or too many of them in a row"
    )]
    NoWord {
        /// Where it begins.
        at: usize,
        /// What is there, shortened if it is long.
        given: String,
    },
    /// A minus stands alone.
    #[error(
        "the - at character {at} is followed by nothing; write -word, -\"a phrase\" or -field:value"
    )]
    NoNegated {
        /// Where it is.
        at: usize,
    },
}
