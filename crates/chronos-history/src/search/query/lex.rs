//! Taking a query apart: pieces between blanks, quotes around what has blanks in it, and where each begins.

use super::{Field, QueryError, shortened};

/// A piece of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it begins, in characters from 1.
    pub(super) at: usize,
    pub(super) negated: bool,
    pub(super) field: Option<Field>,
    /// What it says, without quotes.
    pub(super) value: String,
}

/// The pieces of a query, in order.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, QueryError> {
    let mut reader = Reader { characters: text.chars().collect(), next: 0 };
    let mut pieces = Vec::new();
    while reader.skip_blanks() {
        pieces.push(reader.piece()?);
    }
    Ok(pieces)
}

struct Reader {
    characters: Vec<char>,
    next: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.next).copied()
    }

    /// The place of the next character, from 1.
    fn place(&self) -> usize {
        self.next + 1
    }

    /// Whether anything follows.
    fn skip_blanks(&mut self) -> bool {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next += 1;
        }
        self.peek().is_some()
    }

    fn piece(&mut self) -> Result<Piece, QueryError> {
        let at = self.place();
        let negated = self.peek() == Some('-');
        if negated {
            self.next += 1;
        }
        let Some(first) = self.peek().filter(|next| !next.is_whitespace()) else {
            return Err(QueryError::NoNegated { at });
        };
        if first == '"' {
            let value = self.quoted()?;
            return Ok(Piece { at, negated, field: None, value });
        }
        let Some(name) = self.field_name() else {
            return Ok(Piece { at, negated, field: None, value: self.bare() });
        };
        let unknown = || QueryError::UnknownField { at, given: shortened(&name) };
        let field = Field::named(&name.to_lowercase()).ok_or_else(unknown)?;
        let value = if self.peek() == Some('"') { self.quoted()? } else { self.bare() };
        if value.trim().is_empty() {
            return Err(QueryError::NoValue { at, field });
        }
        Ok(Piece { at, negated, field: Some(field), value })
    }

    /// The name before a colon, if there is one; reads past the colon. What begins with anything else than a
    /// letter, such as 12:30, is no field.
    fn field_name(&mut self) -> Option<String> {
        let rest = &self.characters[self.next..];
        let length = rest.iter().take_while(|it| it.is_alphabetic() || **it == '_').count();
        let is_field = length > 0 && rest.get(length) == Some(&':');
        let name = rest[..length].iter().collect();
        if is_field {
            self.next += length + 1;
        }
        is_field.then_some(name)
    }

    /// Everything up to the next blank.
    fn bare(&mut self) -> String {
        let rest = &self.characters[self.next..];
        let value: String = rest.iter().take_while(|it| !it.is_whitespace()).collect();
        self.next += value.chars().count();
        value
    }

    /// Everything between two quotes; in between a backslash takes a quote or a backslash as it is.
    fn quoted(&mut self) -> Result<String, QueryError> {
        let at = self.place();
        self.next += 1;
        let mut value = String::new();
        while let Some(next) = self.peek() {
            self.next += 1;
            match (next, self.peek()) {
                ('"', _) => return Ok(value),
                ('\\', Some(taken @ ('"' | '\\'))) => {
                    value.push(taken);
                    self.next += 1;
                }
                _ => value.push(next),
            }
        }
        Err(QueryError::Unclosed { at })
    }
}
