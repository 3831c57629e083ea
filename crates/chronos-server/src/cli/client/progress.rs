//! What shows on standard error while something long goes on.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

/// The bar as the template has it; nothing where nobody would see it.
pub(super) fn shown(bar: ProgressBar, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
