use std::fmt::Write as _;

use clap::Args;

use super::tail::nothing;
use crate::audit::stats::{Drift, Report, Thrash, Trend, Trigger, Window};
use crate::audit::{self, Lines, Record};
use crate::cli::which::{called_text, named};
use crate::cli::{Exit, Failure, Ui};
use crate::name::RunId;
use crate::report::{BAD, NAME, WARN, paint, plural};
use crate::store::{Reader, StoreError};
use crate::time::{Moment, parse_duration};
use crate::untrusted::styled_line;

/// Say what the auditor saw: corrections, gaps, violations, drift, the health of the tools
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf audit report                    everything in the audit log
  wf audit report --since 1h
  wf audit report --since 1a2b       since that run began")]
pub struct ReportArgs {
    /// Only what happened in the last while (`1h`), or since a run began
    #[arg(long, value_name = "WHILE|RUN")]
    since: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// From where on a report goes.
enum Since {
    Always,
    Time(Moment),
    Run(RunId),
}

/// Reports.
pub fn run(ui: &Ui, args: &ReportArgs) -> Result<Exit, Failure> {
    let since = since(ui, args.since.as_deref())?;
    let path = audit::path(&ui.workspace().state);
    let failed = |error| Failure::from(StoreError::io("read", &path, &error));
    let Some(mut lines) = Lines::open(&path, 0).map_err(failed)? else {
        return Err(nothing(ui));
    };
    let (mut window, mut begun) = (Window::whole(), false);
    while let Some(line) = lines.next_line().map_err(failed)? {
        let Ok(record) = Record::parse(&line) else {
            continue;
        };
        begun = begun || since.begins(&record);
        if begun {
            window.add(&record);
        } else {
            window.pass(&record);
        }
    }
    let report = window.report(Trigger::OnDemand, None);
    if args.json {
        let document = serde_json::json!({ "v": 1, "report": report });
        ui.print_json(&format!("{document:#}\n"))?;
    } else {
        // The log has items by their numbers, which do not change; people know them by their keys.
        let reader = Reader::open(&ui.workspace().state).ok();
        let called = |run: &RunId, place: &str| called_text(reader.as_ref(), run, place);
        ui.print(&(text(&report) + &findings(&report, &called)))?;
    }
    Ok(Exit::Ok)
}

fn since(ui: &Ui, text: Option<&str>) -> Result<Since, Failure> {
    let Some(text) = text else {
        return Ok(Since::Always);
    };
    if let Ok(while_) = parse_duration(text) {
        let millis = i64::try_from(while_.as_millis()).unwrap_or(i64::MAX);
        let now = ui.env.now().millis();
        return Ok(Since::Time(Moment::from_millis(now.saturating_sub(millis))));
    }
    let reader = Reader::open(&ui.workspace().state)?;
    Ok(Since::Run(named(Some(text), &reader)?))
}

impl Since {
    fn begins(&self, record: &Record) -> bool {
        match self {
            Self::Always => true,
            Self::Time(at) => record.entry.at >= *at,
            Self::Run(run) => record.entry.run.as_ref() == Some(run),
        }
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "{} {what}", paint(NAME, &format!("{name:<10}")));
    };
    if let (Some(start), Some(end)) = (report.window_start, report.window_end) {
        let records = format!("records {} to {}", report.from, report.to);
        line("window", format!("{start} to {end} · {records}"));
    }
    let (runs, tools) = (&report.runs, &report.tool_health);
    line(
        "runs",
        format!(
            "{} started · {} succeeded · {} failed · {} abandoned · {} cancelled · {} refused",
            runs.started, runs.succeeded, runs.failed, runs.abandoned, runs.cancelled, runs.refused
        ),
    );
    line(
        "tasks",
        format!(
            "{} ended · {}",
            report.tasks_observed,
            counted(report.total_corrections, "correction")
        ),
    );
    line(
        "tools",
        format!(
            "{} · retries: {} environmental, {} logical",
            counted(tools.execution_failures, "failure"),
            tools.environmental_retries,
            tools.logical_retries
        ),
    );
    let (gates, approvals) = (&report.gates, &report.approvals);
    line(
        "gates",
        format!("{} asked · {} blocked", gates.judged, gates.blocked),
    );
    line(
        "approvals",
        format!(
            "{} asked · {} given · {} denied · {} expired",
            approvals.asked, approvals.given, approvals.denied, approvals.expired
        ),
    );
    if report.lost > 0 || report.read_later > 0 {
        line(
            "unheard",
            format!(
                "{} lost · {} read in the database",
                report.lost, report.read_later
            ),
        );
    }
    text
}

fn counted(count: u64, what: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), what)
}

/// What somebody should look at.
fn findings(report: &Report, called: &dyn Fn(&RunId, &str) -> String) -> String {
    let mut text = String::new();
    for trend in &report.gap_trends {
        let gaps: Vec<String> = trend
            .gaps
            .iter()
            .map(|(failed, of)| format!("{failed}/{of}"))
            .collect();
        let (style, word) = match trend.trend {
            Trend::Improving => (NAME, "improving"),
            Trend::Flat => (WARN, "flat"),
            Trend::Worsening => (BAD, "worsening"),
        };
        let (run, place) = (trend.run.short(), called(&trend.run, &trend.place));
        let _ = writeln!(
            text,
            "{} {place} of run {run}: {} · {}",
            paint(NAME, "gap       "),
            gaps.join(" → "),
            paint(style, word)
        );
    }
    for thrash in &report.thrashing {
        let what = match thrash {
            Thrash::Attempts { run, place, times } => {
                let (run, place) = (run.short(), called(run, place));
                format!("{place} of run {run} failed {times} times in the same way")
            }
            Thrash::GgsThrashing { run, first, times } => {
                let (run, last) = (run.short(), first + u64::from(*times) - 1);
                format!(
                    "ggs_thrashing: rounds {first} to {last} of run {run} ordered break_symmetry, \
                     and D did not fall"
                )
            }
        };
        let _ = writeln!(text, "{} {what}", paint(WARN, "thrashing "));
    }
    for drift in &report.drift {
        let what = match drift {
            Drift::PassRate { plan, before, now } => {
                format!("{plan}: {now}% of its criteria hold, {before}% did before")
            }
            Drift::Duration { plan, before, now } => {
                format!("{plan}: a run takes {now} ms, {before} ms before")
            }
        };
        let _ = writeln!(text, "{} {what}", paint(WARN, "drift     "));
    }
    for wrong in &report.boundary_violations {
        let _ = writeln!(text, "{} {}", paint(BAD, "violation "), styled_line(wrong));
    }
    text
}
