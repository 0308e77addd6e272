//! The views of a server: plans, runs, output, and requests that wait.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    Ui,
    args::works_elsewhere,
    commands::{
        looking::{list::ListArgs, logs::LogsArgs, runs::RunsArgs, show::ShowArgs},
        trust::inbox::InboxArgs,
    },
    log_lines::HEADING,
    which::{RunArg, split_names},
};
use wf_app::{
    CliExitCode, CommandError,
    server::{ServerClient, ServerRequest, follow_output, path_part},
    usage_error,
};
use wf_base::{
    name::RunId,
    units::first_line,
    untrusted::{BOLD, DIM, NAME, paint, untrusted},
};
use wf_report::{ColumnAlign, TextTable};

/// The most lines of `--tail`: those of one answer.
const MAX_TAIL: usize = 2_000;

/// The pause before a followed run is asked for new attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// A run in a list.
#[derive(Deserialize)]
struct ListedRun {
    id: RunId,
    /// The part of the reconciliation of a goal that it is.
    goal: Option<String>,
}

/// A page of runs.
#[derive(Deserialize)]
struct ListedRuns {
    runs: Vec<ListedRun>,
}

/// A page of the steps of a run.
#[derive(Deserialize)]
struct ListedSteps {
    steps: Vec<ListedStep>,
    more_steps: usize,
}

/// A step of a run.
#[derive(Deserialize)]
struct ListedStep {
    step: String,
    name: String,
    attempts: Vec<ListedAttempt>,
}

/// An attempt of a step.
#[derive(Deserialize)]
struct ListedAttempt {
    attempt: u32,
}

/// The requests that wait.
#[derive(Deserialize)]
pub(super) struct ListedRequests {
    pub requests: Vec<ServerRequest>,
}

/// Prints a document as it came.
pub(super) fn print_document(ui: &Ui, document: &Value) -> Result<CliExitCode, CommandError> {
    ui.print_json(&format!("{document:#}\n"))?;
    Ok(CliExitCode::Ok)
}

/// Returns the part of a path that names a run: what was typed, or the latest one.
pub(super) fn run_part(client: &ServerClient, run: Option<&str>) -> Result<String, CommandError> {
    if let Some(run) = run {
        return Ok(path_part(run));
    }
    // Checks and repairs of goals are meant only where there is no other run, as they are here.
    for path in ["/runs?limit=50", "/runs?limit=1&checks=true"] {
        let ListedRuns { runs } = client.document(path)?;
        let is_repair = |run: &&ListedRun| run.goal.as_deref() == Some("repair");
        if let Some(run) = runs.iter().find(|run| !is_repair(run)).or(runs.first()) {
            return Ok(run.id.to_string());
        }
    }
    Err(usage_error("no runs yet"))
}

/// Returns the same for the argument of a command.
pub(super) fn run_of(client: &ServerClient, run: &RunArg) -> Result<String, CommandError> {
    run_part(client, run.prefix())
}

pub(super) fn list(ui: &Ui, client: &ServerClient, args: &ListArgs) -> Result<CliExitCode, CommandError> {
    let document: Value = client.document("/plans")?;
    if args.json {
        return print_document(ui, &document);
    }
    let mut table = TextTable::new(&["id", "file", "title"].map(|name| (name, ColumnAlign::Left)));
    let plain = anstyle::Style::new();
    for plan in document["plans"].as_array().into_iter().flatten() {
        let text = |key: &str| untrusted(plan[key].as_str().unwrap_or("-")).to_string();
        let problem = plan["problem"].as_str().map(|problem| untrusted(first_line(problem)).to_string());
        table.row(vec![
            (text("name"), BOLD),
            (text("path"), plain),
            (problem.unwrap_or(text("title")), plain),
        ]);
    }
    ui.print(&table.render())?;
    Ok(CliExitCode::Ok)
}

pub(super) fn runs(ui: &Ui, client: &ServerClient, args: &RunsArgs) -> Result<CliExitCode, CommandError> {
    let mut path =
        format!("/runs?limit={}&nested={}&checks={}", args.limit, args.kinds.all, !args.kinds.no_checks);
    if let Some(plan) = &args.plan {
        path += &format!("&plan={}", path_part(plan));
    }
    if let Some(state) = args.state_is {
        path += &format!("&state={}", state.word());
    }
    if args.json {
        return print_document(ui, &client.document(&path)?);
    }
    let table = client.text(&path)?;
    if table.is_empty() {
        ui.print_info("no matching runs\n");
    } else {
        ui.print(&table)?;
    }
    Ok(CliExitCode::Ok)
}

pub(super) fn show(ui: &Ui, client: &ServerClient, args: &ShowArgs) -> Result<CliExitCode, CommandError> {
    let run = run_of(client, &args.run)?;
    if let Some(path) = &args.artifact {
        return print_artifact(ui, client, &run, path);
    }
    if args.json {
        return print_document(ui, &client.document(&format!("/runs/{run}"))?);
    }
    ui.print(&typed_here(&client.text(&format!("/runs/{run}"))?, client.options()))?;
    Ok(CliExitCode::Ok)
}

/// The beginning of the line of a report with the commands that can follow, and what stands between two of them.
const NEXT: &str = "next: ";
const BETWEEN: &str = " · ";

/// Returns the report of a server with commands that work here as they are typed; it leaves out those that work there alone.
fn typed_here(report: &str, options: &str) -> String {
    let lines = report.split_inclusive('\n').map(|line| {
        let Some(commands) = line.trim_end().strip_prefix(NEXT) else {
            return line.to_owned();
        };
        let typed = commands.split(BETWEEN).filter_map(|command| {
            let words = command.strip_prefix("wf ")?;
            let name = words.split(' ').next().unwrap_or_default();
            works_elsewhere(name).then(|| format!("wf {options} {words}"))
        });
        let typed: Vec<String> = typed.collect();
        if typed.is_empty() { String::new() } else { format!("{NEXT}{}\n", typed.join(BETWEEN)) }
    });
    lines.collect()
}

fn print_artifact(
    ui: &Ui,
    client: &ServerClient,
    run: &str,
    path: &str,
) -> Result<CliExitCode, CommandError> {
    let document: Value = client.document(&format!("/runs/{run}/artifacts"))?;
    let artifacts: Vec<&Value> = document["artifacts"].as_array().into_iter().flatten().collect();
    let found = artifacts.iter().rfind(|artifact| artifact["path"] == path);
    let Some(digest) = found.and_then(|artifact| artifact["digest"].as_str()) else {
        let paths: Vec<&str> = artifacts.iter().filter_map(|artifact| artifact["path"].as_str()).collect();
        let error = usage_error(format!("the run has no artifact `{path}`"));
        return Err(error.hint(format!("its artifacts are {}", paths.join(", "))));
    };
    let path = format!("/runs/{run}/artifacts/{}/file", path_part(digest));
    client.download(&path, &mut |bytes| ui.print_bytes(bytes))?;
    Ok(CliExitCode::Ok)
}

pub(super) fn logs(ui: &Ui, client: &ServerClient, args: &LogsArgs) -> Result<CliExitCode, CommandError> {
    let (run, step) = split_names(args.step.last, &args.step.names)?;
    let run = run_part(client, run)?;
    let (name, number) = match step.and_then(|step| step.rsplit_once('#')) {
        Some((name, number)) => (Some(name), number.parse::<u32>().ok()),
        None => (step, None),
    };
    let wanted = WantedLogs { name, number };
    let mut printed = BTreeSet::new();
    loop {
        // Asked before the steps: none begins in a run that has ended.
        let is_last = !args.follow || has_ended(client, &run)?;
        for listed in steps_of(client, &run)? {
            for attempt in wanted.attempts(&listed) {
                if !printed.insert((listed.step.clone(), attempt)) {
                    continue;
                }
                if wanted.means_several(&listed) {
                    ui.print_line(&paint(DIM, &format!("{HEADING}{}#{attempt}", untrusted(&listed.name))))?;
                }
                let path = format!("/runs/{run}/steps/{}", path_part(&listed.step));
                print_log(ui, client, args, &format!("{path}/log"), attempt)?;
            }
        }
        if is_last {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    if !printed.is_empty() {
        return Ok(CliExitCode::Ok);
    }
    Err(usage_error(match step {
        Some(step) => format!("`{step}` has no attempt in this run"),
        None => "no step of the run has begun".to_owned(),
    }))
}

/// A choice of attempts.
#[derive(Clone, Copy)]
struct WantedLogs<'a> {
    /// The name of a step or of an item; `None`: all.
    name: Option<&'a str>,
    /// The number of the attempt; `None`: the last one of a named step, or all.
    number: Option<u32>,
}

impl WantedLogs<'_> {
    fn attempts(self, listed: &ListedStep) -> Vec<u32> {
        let mut attempts = listed.attempts.iter().map(|attempt| attempt.attempt);
        match (self.name, self.number) {
            (None, _) => attempts.collect(),
            (Some(name), _) if name != listed.step && name != listed.name && !self.means_several(listed) => {
                Vec::new()
            }
            (Some(_), None) => attempts.next_back().into_iter().collect(),
            (Some(_), Some(number)) => attempts.filter(|attempt| *attempt == number).collect(),
        }
    }

    /// True if a step is one of several: all are meant, or it is an item, and its repeated step is named.
    fn means_several(self, listed: &ListedStep) -> bool {
        self.name.is_none_or(|name| listed.step.starts_with(&format!("{name}[")))
    }
}

/// True if a run has ended.
fn has_ended(client: &ServerClient, run: &str) -> Result<bool, CommandError> {
    let document: Value = client.document(&format!("/runs/{run}"))?;
    Ok(document["ended"].is_string())
}

fn print_log(
    ui: &Ui,
    client: &ServerClient,
    args: &LogsArgs,
    path: &str,
    attempt: u32,
) -> Result<(), CommandError> {
    if let Some(count) = args.tail {
        let count = count.min(MAX_TAIL);
        let document: Value = client.document(&format!("{path}?attempt={attempt}&count={count}"))?;
        for line in document["lines"].as_array().into_iter().flatten() {
            ui.print_line(line["text"].as_str().unwrap_or_default())?;
        }
        return Ok(());
    }
    if args.follow {
        return follow_output(client, path, attempt, &mut |bytes| ui.print(&String::from_utf8_lossy(bytes)));
    }
    let path = format!("{path}.txt?attempt={attempt}");
    client.download(&path, &mut |bytes| ui.print(&String::from_utf8_lossy(bytes)))
}

/// Returns the steps of a run that have begun.
fn steps_of(client: &ServerClient, run: &str) -> Result<Vec<ListedStep>, CommandError> {
    let mut steps = Vec::new();
    loop {
        let page: ListedSteps =
            client.document(&format!("/runs/{run}/steps?limit=1000&offset={}", steps.len()))?;
        let is_last = page.more_steps == 0 || page.steps.is_empty();
        steps.extend(page.steps);
        if is_last {
            return Ok(steps);
        }
    }
}

pub(super) fn inbox(ui: &Ui, client: &ServerClient, args: &InboxArgs) -> Result<CliExitCode, CommandError> {
    if args.json {
        return print_document(ui, &client.document("/requests")?);
    }
    let ListedRequests { requests } = client.document("/requests")?;
    if requests.is_empty() {
        ui.print_info("nothing waits for you\n");
        return Ok(CliExitCode::Ok);
    }
    let mut table = TextTable::new(&["kind", "subject", "to answer"].map(|name| (name, ColumnAlign::Left)));
    for request in &requests {
        let (kind, verb, rest) = if request.is_question {
            ("question", "answer", " --text TEXT")
        } else {
            ("approval", "approve", "")
        };
        let ServerRequest { name, plan, top, message, .. } = request;
        let subject = format!("{name} of {plan}: {}", first_line(message));
        let command = format!("wf {} {verb} {} {}{rest}", client.options(), top.short(), untrusted(name));
        let plain = anstyle::Style::new();
        table.row(vec![(kind.into(), plain), (untrusted(&subject).to_string(), plain), (command, NAME)]);
    }
    ui.print(&table.render())?;
    Ok(CliExitCode::Ok)
}

#[cfg(test)]
mod tests {
    use super::typed_here;

    #[test]
    fn the_commands_of_a_report_work_here_as_they_are_typed() {
        let typed = |report: &str| typed_here(report, "--server http://desk:8420");
        let report = "failed · run 1a2b\n\nnext: wf logs 1a2b build · wf why 1a2b build · wf retry 1a2b\n";
        let expected = "failed · run 1a2b\n\nnext: wf --server http://desk:8420 logs 1a2b build · \
                        wf --server http://desk:8420 retry 1a2b\n";
        assert_eq!(typed(report), expected);
        assert_eq!(typed("ended\nnext: wf goal run mirror\n"), "ended\n");
        assert_eq!(typed("what is next: wf why\n"), "what is next: wf why\n");
    }
}
