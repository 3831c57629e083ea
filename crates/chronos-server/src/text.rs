//! Text from outside, made safe to show: nobody's name or error moves a cursor or forges a line.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The text on one line, with control characters and those that turn the reading direction spelt
/// out: `\n`, `\u{1b}`, `\u{202e}`.
#[must_use]
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    // Writing to a string cannot fail.
    let _ = Line(&mut line).write_str(text);
    Cow::Owned(line)
}

/// Passes text on to a writer, on one line.
pub(crate) struct Line<'a>(pub(crate) &'a mut dyn fmt::Write);

impl fmt::Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if is_unsafe(character) {
                write!(self.0, "{}", character.escape_default())?;
            } else {
                self.0.write_char(character)?;
            }
        }
        Ok(())
    }
}

fn is_unsafe(character: char) -> bool {
    let turns_direction = matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let ends_line = matches!(character, '\u{2028}' | '\u{2029}');
    character.is_control() || turns_direction || ends_line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_move_the_cursor_is_spelt_out_and_the_rest_stays() {
        for (text, line) in [
            ("nightly report, Zürich 日本 🎉", "nightly report, Zürich 日本 🎉"),
            ("two\r\nlines\tand a tab", "two\\r\\nlines\\tand a tab"),
            ("\u{1b}[2J\u{7}\u{9b}31m\u{7f}", "\\u{1b}[2J\\u{7}\\u{9b}31m\\u{7f}"),
            ("in\u{202e}order\u{2028}now", "in\\u{202e}order\\u{2028}now"),
        ] {
            assert_eq!(on_one_line(text), line);
        }
    }
}
