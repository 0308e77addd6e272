//! What was found, for a terminal and as Markdown.

use std::fmt::Write as _;

use super::{
    report::{Outcome, Report, Row},
    target::{Finding, findings, flushes},
};

/// A number with as many places as say something.
pub fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Seconds, or thousandths of one where they are few.
pub fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 0.1 => format!("{:.1} ms", seconds * 1e3),
        seconds => format!("{seconds:.2} s"),
    }
}

fn finding(finding: &Finding) -> String {
    let Finding { what, most, found } = finding;
    let met = if finding.met() { "met" } else { "missed" };
    format!("{} {what}, at most {}: {met}", number(*found), number(*most))
}

/// A workload as a table of a terminal.
pub fn told(outcome: &Outcome) -> String {
    let mut text = format!("{}: {}\n", outcome.load, outcome.told);
    let heads = ["median", "least", "most", "us/step", "CPU us", "MiB", "x base", "x CPU", "runs"];
    let heads: String = heads.iter().map(|head| format!("{head:>10}")).collect();
    let _ = writeln!(text, "  {:<11}{heads}", "program");
    let base = outcome.base();
    for row in std::iter::once(&base).chain(&outcome.rows) {
        let _ = match (&row.error, row.pairs.is_empty()) {
            (Some(error), _) => writeln!(text, "  {:<11} failed: {error}", row.program),
            (None, true) => Ok(()),
            (None, false) => writeln!(text, "{}", line(outcome, row)),
        };
    }
    let without = outcome.without.iter();
    let without: Vec<String> = without.map(|(name, reason)| format!("{name} ({reason})")).collect();
    if !without.is_empty() {
        let _ = writeln!(text, "  left out: {}", without.join(", "));
    }
    for found in findings(outcome) {
        let _ = writeln!(text, "  wf: {}", finding(&found));
    }
    text
}

fn line(outcome: &Outcome, row: &Row) -> String {
    let wall = row.own(|figures| figures.wall);
    let cpu = row.own(|figures| figures.cpu).median;
    let cells = [
        time(wall.median),
        time(wall.least),
        time(wall.most),
        number(outcome.micros(wall.median)),
        number(outcome.micros(cpu)),
        number(row.own(|figures| figures.peak).most),
        number(row.ratio(|figures| figures.wall).median),
        number(row.ratio(|figures| figures.cpu).median),
        row.pairs.len().to_string(),
    ];
    let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    format!("  {:<11}{cells}", row.program)
}

/// Flushes as a table of a terminal.
pub fn flushed(report: &Report) -> String {
    let mut text = String::from("flushes to the disk per step\n");
    for flushes in &report.flushes {
        let of = |(load, count): &(String, f64)| format!("  {load} {}", number(*count));
        let counts: String = flushes.counts.iter().map(of).collect();
        let _ = writeln!(text, "  {:<11}{counts}", flushes.program);
    }
    for found in flushes(report) {
        let _ = writeln!(text, "  wf: {}", finding(&found));
    }
    text
}

/// All of it as Markdown: what was to be reached and what was, then each workload.
pub fn markdown(report: &Report) -> String {
    let mut text = String::from(
        "| workload | × base | wall | µs/step | CPU µs/step | MiB | asked | reached | best peer |\n\
         |---|--:|--:|--:|--:|--:|---|---|---|\n",
    );
    for outcome in &report.outcomes {
        let Some(wf) = outcome.row("wf") else {
            continue;
        };
        let wall = wf.own(|figures| figures.wall).median;
        let (found, best) = (findings(outcome), best(outcome, wall));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {best} |",
            outcome.load,
            number(wf.ratio(|figures| figures.wall).median),
            time(wall),
            number(outcome.micros(wall)),
            number(outcome.micros(wf.own(|figures| figures.cpu).median)),
            number(wf.own(|figures| figures.peak).most),
            asked(&found),
            reached(&found),
        );
    }
    for found in flushes(report) {
        let (what, count, most) = (&found.what, number(found.found), number(found.most));
        let met = reached(std::slice::from_ref(&found));
        let row = format!("| flushes/step, {what} | – | {count} | – | – | – | {most} | {met} | – |\n");
        text.push_str(&row);
    }
    text.push('\n');
    for outcome in &report.outcomes {
        text.push_str(&whole(outcome));
    }
    text.push_str(&ground(report));
    text
}

fn best(outcome: &Outcome, wall: f64) -> String {
    let Some(best) = outcome.best() else {
        return "–".into();
    };
    let other = best.own(|figures| figures.wall).median;
    format!("{} {} (× {})", best.program, time(other), number(wall / other))
}

fn asked(found: &[Finding]) -> String {
    let all = found.iter().map(|one| format!("{} {}", number(one.most), one.what));
    let all: Vec<String> = all.collect();
    if all.is_empty() { "–".into() } else { all.join(", ") }
}

fn reached(found: &[Finding]) -> String {
    let missed = found.iter().filter(|one| !one.met());
    let missed: Vec<String> = missed.map(|one| format!("{} {}", number(one.found), one.what)).collect();
    match (found.is_empty(), missed.is_empty()) {
        (true, _) => "–".into(),
        (false, true) => "met".into(),
        (false, false) => format!("missed: {}", missed.join(", ")),
    }
}

/// A whole workload as Markdown.
fn whole(outcome: &Outcome) -> String {
    let mut text = format!(
        "### {}\n\n{}.\n\n| program | median | least–most | µs/step | CPU µs/step | MiB | × {base} | × CPU |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
        outcome.load,
        outcome.told,
        base = outcome.base
    );
    let base = outcome.base();
    for row in std::iter::once(&base).chain(&outcome.rows) {
        let program = &row.program;
        if let Some(error) = &row.error {
            let error = error.replace('|', "\\|");
            let _ = writeln!(text, "| {program} | failed: {error} | | | | | | |");
            continue;
        }
        let (wall, cpu) = (row.own(|figures| figures.wall), row.own(|figures| figures.cpu));
        let _ = writeln!(
            text,
            "| {program} | {} | {}–{} | {} | {} | {} | {} | {} |",
            time(wall.median),
            time(wall.least),
            time(wall.most),
            number(outcome.micros(wall.median)),
            number(outcome.micros(cpu.median)),
            number(row.own(|figures| figures.peak).most),
            number(row.ratio(|figures| figures.wall).median),
            number(row.ratio(|figures| figures.cpu).median),
        );
    }
    text.push('\n');
    text
}

/// On what it was measured, and what with.
fn ground(report: &Report) -> String {
    let machine = &report.machine;
    let (count, processor) = &machine.processors;
    let versions = report.versions.iter().map(|(name, version)| format!("{name}: {version}"));
    let versions: Vec<String> = versions.collect();
    let missing = report.missing.iter().map(|(name, reason)| format!("{name} ({reason})"));
    let missing: Vec<String> = missing.collect();
    let mut text = format!(
        "{count} processors ({processor}), {} MiB, {}, {}. {}.\n",
        machine.memory,
        machine.kernel,
        machine.disk,
        versions.join("; ")
    );
    if !missing.is_empty() {
        let _ = writeln!(text, "\nNot measured: {}.", missing.join("; "));
    }
    text
}
