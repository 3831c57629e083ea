//! Figures, their ceilings, and the table they are printed in.

use anyhow::Context;

/// One measured figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
}

/// What a figure must hold to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// Only shown.
    None,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str, goal: Goal) -> Self {
        Self { name: name.into(), value, unit, goal }
    }

    fn met(&self) -> bool {
        match self.goal {
            Goal::AtMost(most) => self.value <= most,
            Goal::AtLeast(least) => self.value >= least,
            Goal::None => true,
        }
    }
}

/// Hands figures from a scenario's process to the one that prints them.
#[expect(clippy::print_stdout, reason = "printing figures is what this program is for")]
pub(crate) fn emit(figures: &[Figure]) {
    for figure in figures {
        let (kind, limit) = match figure.goal {
            Goal::AtMost(most) => ("most", most),
            Goal::AtLeast(least) => ("least", least),
            Goal::None => ("none", 0.0),
        };
        println!("{}\t{}\t{}\t{kind}\t{limit}", figure.name, figure.value, figure.unit);
    }
}

#[derive(Default)]
pub(crate) struct Report {
    figures: Vec<Figure>,
}

const UNITS: [&str; 13] = [
    "ns", "µs", "ms", "s", "jobs/s", "runs/s", "events/s", "keys", "bytes", "%", "runs", "×",
    "CPU s",
];

/// The figures that a scenario's process hands over.
pub(crate) fn read(lines: &str) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for line in lines.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [name, value, unit, kind, limit] = fields[..] else {
            continue;
        };
        let limit: f64 = limit.parse()?;
        let goal = match kind {
            "most" => Goal::AtMost(limit),
            "least" => Goal::AtLeast(limit),
            _ => Goal::None,
        };
        let known = UNITS.iter().find(|known| **known == unit);
        let unit = *known.with_context(|| format!("unknown unit {unit}"))?;
        figures.push(Figure::new(name, value.parse()?, unit, goal));
    }
    Ok(figures)
}

impl Report {
    pub(crate) fn add(&mut self, figures: Vec<Figure>) {
        self.figures.extend(figures);
    }

    /// Adds how many times better the scheduler is than its peer at the same workload.
    pub(crate) fn compare_with_peer(&mut self) {
        // The peer misses runs, and what it does not do costs it nothing: so CPU is compared by the run.
        let goal = Goal::AtLeast(10.0);
        let compared = [
            ("start lag p99", goal),
            ("start lag p99 of what ran", Goal::None),
            ("CPU for the herd", Goal::None),
            ("CPU a run", goal),
        ];
        let ratios: Vec<_> = compared
            .into_iter()
            .filter_map(|(what, goal)| {
                let ours = self.value(&format!("herd: {what}"))?;
                let theirs = self.value(&format!("peer herd: {what}"))?;
                let name = format!("peer ÷ ours: {what}");
                Some(Figure::new(name, theirs / ours, "×", goal))
            })
            .collect();
        self.figures.extend(ratios);
    }

    fn value(&self, name: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }

    /// Prints the table; says whether every goal is met.
    #[expect(clippy::print_stdout, reason = "printing figures is what this program is for")]
    pub(crate) fn print(&self) -> bool {
        let width = self.figures.iter().map(|figure| figure.name.chars().count()).max();
        let width = width.unwrap_or(0);
        println!("{:width$}  {:>12} {:8}  goal", "figure", "measured", "unit");
        for figure in &self.figures {
            let goal = match figure.goal {
                Goal::AtMost(most) => format!("≤ {most}"),
                Goal::AtLeast(least) => format!("≥ {least}"),
                Goal::None => String::new(),
            };
            let verdict = if figure.met() { "" } else { "  NOT MET" };
            let Figure { name, value, unit, .. } = figure;
            println!("{name:width$}  {value:>12.2} {unit:8}  {goal}{verdict}");
        }
        self.figures.iter().all(Figure::met)
    }
}

/// The value below which a share of the sorted samples lies.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index below the length"
    )]
    let index = (last as f64 * share).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}
