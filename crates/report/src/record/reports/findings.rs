use anstyle::Style;

use crate::{ColumnAlign, ItemNames, TextTable};
use wf_base::{
    units::{first_line, plural},
    untrusted::{BAD, DIM, GOOD, NAME, WARN, paint},
};
use wf_core::{
    machine::CheckRuling,
    verify::{CriterionComparison, EvidenceFreshness, ReverifiedResult},
};

/// The results of repeated checks, as a table, with a line saying if they pass.
pub fn findings(results: &[ReverifiedResult], names: &ItemNames) -> String {
    let mut table = TextTable::new(&[
        ("step", ColumnAlign::Left),
        ("criterion", ColumnAlign::Left),
        ("then", ColumnAlign::Left),
        ("now", ColumnAlign::Left),
        ("reason", ColumnAlign::Left),
    ]);
    for finding in results {
        let mut name = name(finding, names);
        for criterion in &finding.criteria {
            table.row(row(std::mem::take(&mut name), criterion));
        }
        if let Some(evidence) = &finding.evidence {
            table.row(files(name, evidence));
        }
    }
    if table.is_empty() {
        return format!("{} no check passed in this run\n", paint(BAD, "nothing to verify:"));
    }
    table.render() + "\n" + &verdict(results)
}

/// True if something passed then, and all of it passes now.
pub fn all_pass(results: &[ReverifiedResult]) -> bool {
    results.iter().any(ReverifiedResult::passed) && results.iter().all(ReverifiedResult::still_holds)
}

fn name(result: &ReverifiedResult, names: &ItemNames) -> String {
    match &result.task_id {
        Some(place) => names.subject(&result.path, place),
        None => names.text(&result.path, "(plan)"),
    }
}

fn row(name: String, criterion: &CriterionComparison) -> Vec<(String, Style)> {
    let CriterionComparison { then, now } = criterion;
    let reason = match now.ruling {
        CheckRuling::Pass => String::new(),
        _ => now.mismatch(),
    };
    vec![
        (name, NAME),
        (now.name.to_string(), Style::new()),
        (then.as_str().to_owned(), style(*then)),
        (now.ruling.as_str().to_owned(), style(now.ruling)),
        (first_line(&reason).to_owned(), DIM),
    ]
}

fn files(name: String, evidence: &EvidenceFreshness) -> Vec<(String, Style)> {
    let (now, style, reason) = match &evidence.stale {
        None => ("fresh", GOOD, String::new()),
        Some(path) => ("stale", WARN, format!("{path} changed after it was checked")),
    };
    vec![
        (name, NAME),
        (plural(evidence.files, "file"), DIM),
        ("fresh".to_owned(), GOOD),
        (now.to_owned(), style),
        (reason, DIM),
    ]
}

fn style(ruling: CheckRuling) -> Style {
    match ruling {
        CheckRuling::Pass => GOOD,
        CheckRuling::Fail => BAD,
        CheckRuling::Error => WARN,
    }
}

fn verdict(results: &[ReverifiedResult]) -> String {
    let criteria = || results.iter().flat_map(|finding| &finding.criteria);
    let then = criteria().filter(|comparison| comparison.then == CheckRuling::Pass);
    let (passed, still) = then.fold((0, 0), |(passed, still), one| {
        (passed + 1, still + usize::from(one.now.ruling == CheckRuling::Pass))
    });
    let stale = |result: &&ReverifiedResult| {
        let evidence = result.evidence.as_ref();
        evidence.is_some_and(|files| files.stale.is_some())
    };
    let stale = results.iter().filter(stale).count();
    let mut line = format!("{still} of {passed} checks that passed still pass");
    if stale > 0 {
        line += &format!(", the evidence of {} is stale", plural(stale, "result"));
    }
    if all_pass(results) {
        format!("{} {line}\n", paint(GOOD, "passed:"))
    } else {
        format!("{} {line}\n", paint(BAD, "failed:"))
    }
}
