//! Snippets: the part of a text where what was looked for is, with its words marked.

use std::ops::Range;

use tantivy::tokenizer::TokenStream as _;

use super::schema::analyzer;

/// Characters of a snippet, more or less.
const LONG: usize = 200;
/// Characters before the first marked word.
const BEFORE: usize = 40;

/// A part of a text, whose marked fragments are what was looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// Its fragments, in order; together they are the part.
    pub fragments: Vec<Fragment>,
}

/// A fragment of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    /// The text; blanks stand for control characters.
    pub text: String,
    /// Whether it was looked for.
    pub marked: bool,
}

impl Snippet {
    /// The part of a text that has the most of these words close together; its beginning if it has none, and
    /// nothing of an empty text.
    pub(super) fn of(text: &str, sought: &[&str]) -> Option<Self> {
        if text.trim().is_empty() {
            return None;
        }
        let marks = marks(text, sought);
        let range = best(text, &marks);
        let mut fragments = Vec::new();
        let mut push = |text: &str, marked| {
            if !text.is_empty() {
                fragments.push(Fragment { text: printable(text), marked });
            }
        };
        push(if range.start > 0 { "…" } else { "" }, false);
        let mut end = range.start;
        for mark in marks.iter().filter(|mark| mark.start >= range.start && mark.end <= range.end) {
            push(&text[end..mark.start], false);
            push(&text[mark.clone()], true);
            end = mark.end;
        }
        push(&text[end..range.end], false);
        push(if range.end < text.len() { "…" } else { "" }, false);
        Some(Self { fragments })
    }

    /// Whether any of it was looked for.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.fragments.iter().any(|fragment| fragment.marked)
    }

    /// The text without its marks.
    #[must_use]
    pub fn text(&self) -> String {
        self.fragments.iter().map(|fragment| fragment.text.as_str()).collect()
    }
}

/// Where in a text these words are.
fn marks(text: &str, sought: &[&str]) -> Vec<Range<usize>> {
    let mut marks = Vec::new();
    if sought.is_empty() {
        return marks;
    }
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    while stream.advance() {
        let token = stream.token();
        if sought.contains(&token.text.as_str()) {
            marks.push(token.offset_from..token.offset_to);
        }
    }
    marks
}

/// The part of a text to show.
fn best(text: &str, marks: &[Range<usize>]) -> Range<usize> {
    let mut best: (usize, usize) = (0, 0);
    let mut end = 0;
    for (number, mark) in marks.iter().enumerate() {
        end = end.max(number);
        while marks.get(end).is_some_and(|other| other.end <= mark.start + LONG) {
            end += 1;
        }
        // Of equals the first.
        if end - number > best.0 {
            best = (end - number, mark.start);
        }
    }
    let start = text.floor_char_boundary(best.1.saturating_sub(BEFORE));
    // From the beginning of a word, unless it is a long one.
    let head = &text[start..best.1];
    let skipped = if start == 0 { None } else { head.find(char::is_whitespace) };
    let start = start + skipped.map_or(0, |blank| blank + 1);
    let start = text.ceil_char_boundary(start).min(best.1);
    start..text.floor_char_boundary(start.saturating_add(LONG + BEFORE))
}

fn printable(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, sought: &[&str]) -> Option<String> {
        let snippet = Snippet::of(text, sought)?;
        let shown =
            snippet.fragments.iter().map(
                |Fragment { text, marked }| {
                    if *marked { format!("[{text}]") } else { text.clone() }
                },
            );
        Some(shown.collect())
    }

    #[test]
    fn words_are_marked_where_they_are_closest_together() {
        let text = "Connection reset by peer";
        assert_eq!(shown(text, &["reset"]).unwrap(), "Connection [reset] by peer");
        assert_eq!(shown(text, &["connection", "peer"]).unwrap(), "[Connection] reset by [peer]");
        assert_eq!(shown(text, &[]).unwrap(), text);
        assert_eq!(shown(" \n", &["reset"]), None);
        assert_eq!(shown("a\u{1b}[31m\nreset", &["reset"]).unwrap(), "a [31m [reset]");
        let long = format!("reset {} the connection was reset", "blah ".repeat(100));
        let shown = shown(&long, &["connection", "reset"]).unwrap();
        assert!(shown.starts_with('…'), "{shown}");
        assert!(shown.ends_with("the [connection] was [reset]"), "{shown}");
    }

    #[test]
    fn any_text_can_be_cut() {
        for sought in ["é", "wörter", "x"] {
            for length in 0..300 {
                let text = format!("{} wörter é x {}", "é".repeat(length), "ß𝄞".repeat(length));
                let snippet = Snippet::of(&text, &[sought]).unwrap();
                assert!(snippet.text().len() < 600);
                // The last comes after a word that is not cut, so it is in sight.
                if sought == "x" {
                    assert!(snippet.is_marked(), "{length}");
                }
            }
        }
    }
}
