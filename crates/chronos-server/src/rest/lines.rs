//! Lines of a body that comes in parts: one is held at a time, and none grows without bound.

use axum::body::Bytes;
use axum::http::StatusCode;
use futures::{Stream, StreamExt};

use crate::problem::Problem;

/// Takes lines from a stream of bytes.
pub(super) struct Lines<S> {
    parts: S,
    /// What has come and is not a whole line yet.
    begun: Vec<u8>,
    /// How much of that holds no end of a line.
    looked_at: usize,
    max_line: usize,
    room: usize,
    over: bool,
}

impl<S, E> Lines<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    /// Lines of at most `max_line` bytes, `max_all` together.
    pub(super) fn new(parts: S, max_line: usize, max_all: usize) -> Self {
        Self { parts, begun: Vec::new(), looked_at: 0, max_line, room: max_all, over: false }
    }

    /// The next line, without its end; `None` after the last, and after a refusal.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Problem>> {
        while !self.over {
            let end = self.begun[self.looked_at..].iter().position(|byte| *byte == b'\n');
            let length = end.map_or(self.begun.len(), |end| self.looked_at + end);
            if length > self.max_line {
                return Some(self.refuse(format!("a line is longer than {} bytes", self.max_line)));
            }
            if end.is_some() {
                let line = self.begun.drain(..=length).take(length).collect();
                self.looked_at = 0;
                return Some(Ok(line));
            }
            self.looked_at = self.begun.len();
            match self.parts.next().await {
                Some(Ok(part)) if part.len() > self.room => {
                    return Some(self.refuse("the body is too large; use several requests".into()));
                }
                Some(Ok(part)) => {
                    self.room -= part.len();
                    self.begun.extend_from_slice(&part);
                }
                Some(Err(_)) => {
                    self.over = true;
                    let detail = "the body breaks off before its end";
                    return Some(Err(Problem::new(StatusCode::BAD_REQUEST, detail)));
                }
                None => {
                    self.over = true;
                    let last = std::mem::take(&mut self.begun);
                    return (!last.is_empty()).then(|| Ok(last.into()));
                }
            }
        }
        None
    }

    fn refuse(&mut self, detail: String) -> Result<Bytes, Problem> {
        self.over = true;
        Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{FutureExt, stream};

    use super::*;

    /// The lines of a body that comes in these parts, and whether it was refused.
    fn lines(parts: &[&str]) -> (Vec<String>, bool) {
        let parts: Vec<Result<Bytes, Infallible>> =
            parts.iter().map(|part| Ok(Bytes::copy_from_slice(part.as_bytes()))).collect();
        let mut lines = Lines::new(stream::iter(parts), 8, 30);
        let mut read = Vec::new();
        while let Some(line) = lines.next().now_or_never().flatten() {
            match line {
                Ok(line) => read.push(String::from_utf8(line.to_vec()).unwrap()),
                Err(_) => return (read, true),
            }
        }
        (read, false)
    }

    #[test]
    fn lines_are_taken_from_whatever_parts_they_come_in() {
        for (parts, expected) in [
            (&["one\ntwo\nthree"][..], &["one", "two", "three"][..]),
            (&["on", "e\ntw", "o\n", "three\n"], &["one", "two", "three"]),
            (&["\n\none\n"], &["", "", "one"]),
            (&["12345678\n"], &["12345678"]),
            (&[], &[]),
        ] {
            assert_eq!(lines(parts), (expected.iter().map(ToString::to_string).collect(), false));
        }
    }

    #[test]
    fn what_is_too_long_is_refused_after_what_came_before() {
        assert_eq!(lines(&["one\n123456789\n"]), (vec!["one".into()], true));
        assert_eq!(lines(&["one\n1234", "56789"]), (vec!["one".into()], true));
        let (read, refused) = lines(&["1234567\n"; 4]);
        assert_eq!((read.len(), refused), (3, true));
    }
}
