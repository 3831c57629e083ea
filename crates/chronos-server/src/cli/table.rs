//! Tables for people: aligned columns, and none of them empty.

use std::io::{self, Write};

use anstyle::Style;

const HEADER: Style = Style::new().dimmed();
const GAP: &str = "   ";

/// A column: its title, its cells from top to bottom, and how they look on a terminal.
pub(super) struct Column {
    pub(super) title: String,
    pub(super) cells: Vec<String>,
    pub(super) style: Style,
}

/// Writes the columns side by side, without those that have nothing to say.
pub(super) fn write(columns: Vec<Column>, out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<Column> = columns
        .into_iter()
        .filter(|column| column.cells.iter().any(|cell| !cell.is_empty()))
        .collect();
    let titles = columns.iter().map(|column| (column.title.as_str(), HEADER));
    write_row(&columns, titles, out)?;
    let rows = columns.first().map_or(0, |column| column.cells.len());
    for row in 0..rows {
        let cells = columns.iter().map(|column| (column.cells[row].as_str(), column.style));
        write_row(&columns, cells, out)?;
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
    fn width(&self) -> usize {
        let texts = self.cells.iter().chain([&self.title]);
        texts.map(|text| text.chars().count()).max().unwrap_or(0)
    }
}
