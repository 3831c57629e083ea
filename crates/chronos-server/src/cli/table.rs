//! Tables for people: aligned columns, and none of them empty.

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;

use crate::text::on_one_line;

const HEADER: Style = Style::new().dimmed();
const GAP: &str = "   ";

/// A column: its title, its cells from top to bottom, and how each looks on a terminal.
pub(super) struct Column {
    pub(super) title: String,
    pub(super) cells: Vec<String>,
    pub(super) style: fn(&str) -> Style,
}

/// Writes the columns side by side, without those that have nothing to say.
pub(super) fn write(columns: Vec<Column>, out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<Column> = columns
        .into_iter()
        .filter(|column| column.cells.iter().any(|cell| !cell.is_empty()))
        .map(Column::on_one_line)
        .collect();
    let titles = columns.iter().map(|column| (column.title.as_str(), HEADER));
    write_row(&columns, titles, out)?;
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let cells = columns
            .iter()
            .map(|column| (column.cells[row].as_str(), (column.style)(&column.cells[row])));
        write_row(&columns, cells, out)?;
    }
    Ok(())
}

/// Writes names and values one below the other, without those that have nothing to say.
pub(super) fn write_details(details: &[(&str, String)], out: &mut dyn Write) -> io::Result<()> {
    let width = details.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in details.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(out, "  {HEADER}{name:width$}{HEADER:#}   {}", on_one_line(value))?;
    }
    Ok(())
}

/// Writes one line; a space is only written once something follows it.
fn write_row<'a>(
    columns: &[Column],
    cells: impl Iterator<Item = (&'a str, Style)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut pending = 0;
    for (column, (cell, style)) in columns.iter().zip(cells) {
        if !cell.is_empty() {
            write!(out, "{:pending$}{style}{cell}{style:#}", "")?;
            pending = 0;
        }
        pending += column.width() - cell.chars().count() + GAP.len();
    }
    writeln!(out)
}

impl Column {
    /// A column of this title.
    pub(super) fn new(title: &str, style: fn(&str) -> Style, cells: Vec<String>) -> Self {
        Self { title: title.into(), cells, style }
    }

    /// The same, with every cell flush right.
    pub(super) fn right(mut self) -> Self {
        let width = self.width();
        self.title = format!("{:>width$}", self.title);
        for cell in self.cells.iter_mut().filter(|cell| !cell.is_empty()) {
            *cell = format!("{cell:>width$}");
        }
        self
    }

    /// What a cell holds may come from anywhere, so none can leave its line.
    fn on_one_line(mut self) -> Self {
        for cell in &mut self.cells {
            if let Cow::Owned(safe) = on_one_line(cell) {
                *cell = safe;
            }
        }
        self
    }

    fn width(&self) -> usize {
        let texts = self.cells.iter().chain([&self.title]);
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}
