use anstyle::Style;

use crate::engine::{Criterion, Finding, Freshness};
use crate::machine::Ruling;
use crate::report::{Align, BAD, DIM, GOOD, NAME, Names, Table, WARN, first_line, paint, plural};

/// What results were checked again, as a table, and in a line whether they hold.
pub fn findings(all: &[Finding], names: &Names) -> String {
    let mut table = Table::new(&[
        ("step", Align::Left),
        ("criterion", Align::Left),
        ("then", Align::Left),
        ("now", Align::Left),
        ("why", Align::Left),
    ]);
    for finding in all {
        let mut name = name(finding, names);
        for criterion in &finding.criteria {
            table.row(row(std::mem::take(&mut name), criterion));
        }
        if let Some(evidence) = &finding.evidence {
            table.row(files(name, evidence));
        }
    }
    if table.is_empty() {
        return format!("{} no check was passed\n", paint(BAD, "nothing to verify:"));
    }
    table.render() + "\n" + &verdict(all)
}

/// Whether something passed then, and all of that holds now.
pub fn hold(all: &[Finding]) -> bool {
    all.iter().any(Finding::passed) && all.iter().all(Finding::holds)
}

fn name(finding: &Finding, names: &Names) -> String {
    match &finding.place {
        Some(place) => names.subject(&finding.path, place),
        None => names.text(&finding.path, "(plan)"),
    }
}

fn row(name: String, criterion: &Criterion) -> Vec<(String, Style)> {
    let Criterion { then, now } = criterion;
    let why = match now.ruling {
        Ruling::Pass => String::new(),
        _ => now.mismatch(),
    };
    vec![
        (name, NAME),
        (now.name.to_string(), Style::new()),
        (word(*then).to_owned(), style(*then)),
        (word(now.ruling).to_owned(), style(now.ruling)),
        (first_line(&why).to_owned(), DIM),
    ]
}

fn files(name: String, evidence: &Freshness) -> Vec<(String, Style)> {
    let (now, style, why) = match &evidence.stale {
        None => ("fresh", GOOD, String::new()),
        Some(path) => (
            "stale",
            WARN,
            format!("{path} changed after it was checked"),
        ),
    };
    vec![
        (name, NAME),
        (plural(evidence.files, "file"), DIM),
        ("fresh".to_owned(), GOOD),
        (now.to_owned(), style),
        (why, DIM),
    ]
}

fn word(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Pass => "pass",
        Ruling::Fail => "fail",
        Ruling::Error => "error",
    }
}

fn style(ruling: Ruling) -> Style {
    match ruling {
        Ruling::Pass => GOOD,
        Ruling::Fail => BAD,
        Ruling::Error => WARN,
    }
}

fn verdict(all: &[Finding]) -> String {
    let criteria = || all.iter().flat_map(|finding| &finding.criteria);
    let then = criteria().filter(|one| one.then == Ruling::Pass);
    let (passed, still) = then.fold((0, 0), |(passed, still), one| {
        (
            passed + 1,
            still + usize::from(one.now.ruling == Ruling::Pass),
        )
    });
    let stale = |finding: &&Finding| {
        let evidence = finding.evidence.as_ref();
        evidence.is_some_and(|files| files.stale.is_some())
    };
    let stale = all.iter().filter(stale).count();
    let mut line = format!("{still} of {passed} criteria that passed still pass");
    if stale > 0 {
        line += &format!(", the evidence of {} is stale", plural(stale, "result"));
    }
    if hold(all) {
        format!("{} {line}\n", paint(GOOD, "holds:"))
    } else {
        format!("{} {line}\n", paint(BAD, "does not hold:"))
    }
}
