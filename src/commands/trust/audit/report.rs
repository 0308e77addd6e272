use std::fmt::Write as _;

use clap::Args;

use super::tail::no_audit_log;
use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, Host, StateReader, audit_log::AuditRecords, names::recorded_task_name,
};
use wf_audit::{
    AuditRecord,
    stats::{AuditReport, FailureTrend, PlanDrift, ReportTrigger, ReportWindow, ThrashPattern},
};
use wf_base::{
    name::RunId,
    time::{Moment, parse_duration},
    units::plural,
    untrusted::{BAD, NAME, WARN, paint, styled_line},
};

/// Summarize the audit log: corrections, gaps, violations, drift, the health of the tools
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf audit report                    the whole audit log
  wf audit report --since 1h
  wf audit report --since 1a2b       since that run started")]
pub struct AuditReportArgs {
    /// Only events since DURATION ago (e.g. 1h) or since RUN started
    #[arg(long, value_name = "WHILE|RUN")]
    since: Option<String>,
    /// Write one JSON document
    #[arg(long)]
    json: bool,
}

/// The start of the period of a report.
enum ReportStart {
    Always,
    Time(Moment),
    Run(RunId),
}

/// Prints the report.
pub fn run(ui: &Ui, args: &AuditReportArgs) -> Result<CliExitCode, CommandError> {
    let since = since(&ui.host, args.since.as_deref())?;
    let mut records = AuditRecords::open(&ui.host, 0)?;
    if !records.exist() {
        return Err(no_audit_log(&ui.host));
    }
    let (mut window, mut has_begun) = (ReportWindow::spanning_reports(), false);
    while let Some(line) = records.next_line()? {
        let Ok(record) = AuditRecord::parse(&line) else {
            continue;
        };
        has_begun = has_begun || since.begins(&record);
        if has_begun {
            window.add(&record);
        } else {
            window.skip_record(&record);
        }
    }
    let report = window.report(ReportTrigger::OnDemand, None);
    if args.json {
        let document = serde_json::json!({ "v": 1, "report": report });
        ui.print_json(&format!("{document:#}\n"))?;
    } else {
        // The log has items by their numbers, which do not change; users know them by their keys.
        let state = StateReader::open(&ui.host.workspace()).ok();
        let called = |run: &RunId, place: &str| recorded_task_name(state.as_ref(), run, place);
        ui.print(&(text(&report) + &findings(&report, &called)))?;
    }
    Ok(CliExitCode::Ok)
}

fn since(host: &Host, text: Option<&str>) -> Result<ReportStart, CommandError> {
    let Some(text) = text else {
        return Ok(ReportStart::Always);
    };
    if let Ok(while_) = parse_duration(text) {
        let millis = i64::try_from(while_.as_millis()).unwrap_or(i64::MAX);
        let now = host.now().millis();
        return Ok(ReportStart::Time(Moment::from_millis(now.saturating_sub(millis))));
    }
    Ok(ReportStart::Run(StateReader::open(&host.workspace())?.find_run(Some(text))?))
}

impl ReportStart {
    fn begins(&self, record: &AuditRecord) -> bool {
        match self {
            Self::Always => true,
            Self::Time(at) => record.entry.at >= *at,
            Self::Run(run) => record.entry.run.as_ref() == Some(run),
        }
    }
}

fn text(report: &AuditReport) -> String {
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
            "{} finished · {}",
            report.tasks_observed,
            count_text(report.total_corrections, "correction")
        ),
    );
    line(
        "tools",
        format!(
            "{} · retries: {} environmental, {} logical",
            count_text(tools.execution_failures, "failure"),
            tools.environmental_retries,
            tools.logical_retries
        ),
    );
    let (gates, approvals) = (&report.gates, &report.approvals);
    line("gates", format!("{} evaluated · {} blocked", gates.judged, gates.blocked));
    line(
        "approvals",
        format!(
            "{} requested · {} given · {} denied · {} expired",
            approvals.asked, approvals.given, approvals.denied, approvals.expired
        ),
    );
    if report.lost > 0 || report.read_later > 0 {
        line("unheard", format!("{} lost · {} read from the database", report.lost, report.read_later));
    }
    text
}

fn count_text(count: u64, noun: &str) -> String {
    plural(usize::try_from(count).unwrap_or(usize::MAX), noun)
}

/// The findings to be attended to.
fn findings(report: &AuditReport, called: &dyn Fn(&RunId, &str) -> String) -> String {
    let mut text = String::new();
    for trend in &report.gap_trends {
        let gaps: Vec<String> = trend.gaps.iter().map(|(failed, of)| format!("{failed}/{of}")).collect();
        let (style, word) = match trend.trend {
            FailureTrend::Improving => (NAME, "improving"),
            FailureTrend::Flat => (WARN, "flat"),
            FailureTrend::Worsening => (BAD, "worsening"),
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
        let description = match thrash {
            ThrashPattern::Attempts { run, place, times } => {
                let (run, place) = (run.short(), called(run, place));
                format!("{place} of run {run} failed {times} times with the same failure")
            }
            ThrashPattern::GgsThrashing { run, first, times } => {
                let (run, last) = (run.short(), first + u64::from(*times) - 1);
                format!(
                    "ggs_thrashing: rounds {first} to {last} of run {run} ordered break_symmetry, \
                     but D did not decrease"
                )
            }
        };
        let _ = writeln!(text, "{} {description}", paint(WARN, "thrashing "));
    }
    for drift in &report.drift {
        let description = match drift {
            PlanDrift::PassRate { plan, before, now } => {
                format!("{plan}: {now}% of its checks pass, {before}% before")
            }
            PlanDrift::Duration { plan, before, now } => {
                format!("{plan}: a run takes {now} ms, previously {before} ms")
            }
        };
        let _ = writeln!(text, "{} {description}", paint(WARN, "drift     "));
    }
    for wrong in &report.boundary_violations {
        let _ = writeln!(text, "{} {}", paint(BAD, "violation "), styled_line(wrong));
    }
    text
}
