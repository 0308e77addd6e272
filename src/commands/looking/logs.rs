use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::Ui;
use crate::log_calls::print_calls;
use crate::log_lines::{HEADING, LogLineFormat, LogLineFormatter, last_lines};
use crate::which::{ResolvedTask, StepArg, find_step, require_step};
use wf_app::logs::{DamagedLog, damaged_logs};
use wf_app::names::task_name;
use wf_app::{CliExitCode, CommandError, load};
use wf_base::name::RunId;
use wf_base::untrusted::{DIM, paint};
use wf_core::machine::{Attempt, ChildId, TaskId};
use wf_exec::log::{LogFollower, LogStream, RunLogs};
use wf_store::{AttemptRow, RunState, StateFolder, StoreReader};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf logs --last                   all output of the latest run
  wf logs 1a2b build               output of the last attempt of `build`
  wf logs 1a2b fetch[2]#1 --tail 20
  wf logs --last build -f          follow the output
  wf logs --last build --raw       raw bytes, including colours
  wf logs --last --json            for a program
  wf logs --last fix --calls       what the agent of `fix` and its model said")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct LogsArgs {
    #[command(flatten)]
    step: StepArg,
    /// Follow output (like tail -f)
    #[arg(short, long)]
    follow: bool,
    /// Only print standard output
    #[arg(long, conflicts_with = "stderr")]
    stdout: bool,
    /// Only print standard error
    #[arg(long)]
    stderr: bool,
    /// Print the time before each line
    #[arg(short, long)]
    timestamps: bool,
    /// Only print the last lines
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    tail: Option<usize>,
    /// Write every line as a line of JSON
    #[arg(long, conflicts_with = "timestamps")]
    json: bool,
    /// Print the requests of agents, judges, gates and planners to their models, and the replies
    #[arg(long, conflicts_with_all = ["follow", "stdout", "stderr", "timestamps", "tail", "json", "raw"])]
    calls: bool,
    /// Print the raw bytes, including terminal escapes
    #[arg(long, conflicts_with_all = ["json", "timestamps"])]
    raw: bool,
}

/// The interval at which new output is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Prints logs.
pub fn run(ui: &Ui, args: &LogsArgs) -> Result<CliExitCode, CommandError> {
    let state = ui.host.workspace().state;
    let reader = StoreReader::open(&state)?;
    let (run, subject) = args.step.resolve(&reader)?;
    let found = subject.map(|subject| find_step(run.clone(), &subject, &reader)).transpose()?;
    let run = found.as_ref().map_or(run, |found| found.run.clone());
    if let Some(found) = &found
        && !reader.attempts(&run)?.iter().any(|row| is_attempt_of(row, &found.place))
    {
        require_step(&*load::recorded_plan(ui, &reader, &run)?, found.place.step.as_str())?;
    }
    if args.calls {
        print_calls(ui, &reader, &run, found.as_ref())?;
        return Ok(CliExitCode::Ok);
    }
    let view = LogView { ui, args, folder: StateFolder::new(&state), reader, run, selected: found };
    let shown = if args.follow { view.follow() } else { view.print() };
    shown?;
    Ok(CliExitCode::Ok)
}

/// The maximum number of damaged logs that are named.
const MAX_NAMED: usize = 10;

/// The log of an attempt.
struct AttemptLog {
    run: RunId,
    logs: Arc<RunLogs>,
    attempt: Attempt,
    /// The task, if it belongs to the run itself.
    task: Option<TaskId>,
    /// The task as it is shown to users, below those above it.
    name: String,
}

/// The depth to which nested runs are shown.
const DEPTH: usize = 32;

struct LogView<'a> {
    ui: &'a Ui,
    args: &'a LogsArgs,
    folder: StateFolder,
    reader: StoreReader,
    run: RunId,
    selected: Option<ResolvedTask>,
}

impl LogView<'_> {
    fn form(&self, entry: &AttemptLog, prefix: Option<String>) -> LogLineFormat {
        let json = self.args.json;
        let only = match (self.args.stdout, self.args.stderr) {
            (true, _) => Some(LogStream::Out),
            (_, true) => Some(LogStream::Err),
            _ => None,
        };
        LogLineFormat {
            only_stream: only,
            timestamps: self.args.timestamps,
            prefix: prefix.filter(|_| !json),
            json_subject: json.then(|| (entry.name.clone(), entry.attempt.attempt)),
            raw: self.args.raw,
        }
    }

    /// Returns the selected attempts, each before those of the run nested in it.
    fn entries(&self) -> Result<Vec<AttemptLog>, CommandError> {
        let mut entries = Vec::new();
        self.collect(&self.run, self.attempts()?, "", DEPTH, &mut entries)?;
        Ok(entries)
    }

    fn attempts(&self) -> Result<Vec<Attempt>, CommandError> {
        let all = self.reader.attempts(&self.run)?;
        let Some(found) = &self.selected else {
            return Ok(all.iter().map(attempt).collect());
        };
        let own = all.iter().filter(|row| is_attempt_of(row, &found.place));
        let own = own.map(attempt);
        Ok(match found.attempt {
            Some(n) => own.filter(|attempt| attempt.attempt == n).collect(),
            None => last_of_each(own.collect()),
        })
    }

    fn collect(
        &self,
        run: &RunId,
        attempts: Vec<Attempt>,
        above: &str,
        depth: usize,
        entries: &mut Vec<AttemptLog>,
    ) -> Result<(), CommandError> {
        let children = self.reader.children(run)?;
        let logs = RunLogs::new(self.folder.run(run));
        for own in attempts {
            let own_name = task_name(&self.reader, run, &own.place)?;
            let name = format!("{above}{own_name}");
            entries.push(AttemptLog {
                run: run.clone(),
                task: above.is_empty().then(|| own.place.clone()),
                logs: Arc::clone(&logs),
                name: name.clone(),
                attempt: own.clone(),
            });
            for (child, of) in children.iter().filter(|_| depth > 0) {
                let above = match of.parse::<ChildId>() {
                    Ok(id) if id.attempt == own => format!("{name}/{}/", id.child),
                    Err(_) if *of == own.to_string() => format!("{name}/"),
                    _ => continue,
                };
                let inner = self.reader.attempts(child)?.iter().map(attempt).collect();
                self.collect(child, inner, &above, depth - 1, entries)?;
            }
        }
        Ok(())
    }

    fn print(&self) -> Result<(), CommandError> {
        let entries = self.entries()?;
        if entries.is_empty() {
            return Err(self.no_logs());
        }
        let headed = entries.len() > 1 || self.selected.is_none();
        for entry in &entries {
            self.print_one(entry, headed)?;
        }
        self.check_damage(&entries)
    }

    /// Refuses logs that differ from the record of their attempts, once they are printed.
    fn check_damage(&self, entries: &[AttemptLog]) -> Result<(), CommandError> {
        let runs: BTreeSet<&RunId> = entries.iter().map(|entry| &entry.run).collect();
        let mut named = Vec::new();
        for run in runs {
            let damaged = damaged_logs(&self.reader, run, None)?;
            let is_shown = |log: &DamagedLog| {
                entries.iter().any(|entry| entry.run == log.run && entry.attempt == log.attempt)
            };
            named.extend(damaged.iter().filter(|log| is_shown(log)).map(DamagedLog::to_string));
        }
        if named.is_empty() {
            return Ok(());
        }
        named.truncate(MAX_NAMED);
        let hint = "the files of the state were changed after the attempt ended; `wf restore` brings back a backup of the state";
        Err(CommandError::new(CliExitCode::State, named.join("; ")).hint(hint))
    }

    /// Prints a log; an empty log gets no heading.
    fn print_one(&self, entry: &AttemptLog, headed: bool) -> Result<(), CommandError> {
        let headed = headed && !self.args.json;
        let mut lines = LogLineFormatter::new(self.form(entry, None));
        let mut kept = Vec::new();
        let mut last = None;
        let mut print = |text: Vec<u8>, is_end: bool| {
            if headed && last.is_none() && !text.is_empty() {
                let heading = format!("{HEADING}{}#{}", entry.name, entry.attempt.attempt);
                self.ui.print_line(&paint(DIM, &heading))?;
            }
            last = text.last().copied().or(last);
            kept.extend(text);
            match self.args.tail {
                Some(count) => kept = last_lines(&kept, count),
                None => self.write(&std::mem::take(&mut kept))?,
            }
            if is_end {
                self.write(&kept)?;
            }
            Ok::<(), CommandError>(())
        };
        for chunk in entry.logs.read(&entry.attempt).map_err(unreadable)? {
            print(lines.push(&chunk.map_err(unreadable)?), false)?;
        }
        print(lines.close(), true)?;
        if headed && last.is_some_and(|last| last != b'\n') {
            self.ui.print("\n")?;
        }
        Ok(())
    }

    fn write(&self, text: &[u8]) -> Result<(), CommandError> {
        if self.args.raw {
            return self.ui.print_bytes(text);
        }
        let text = String::from_utf8_lossy(text);
        if self.args.json { self.ui.print_json(&text) } else { self.ui.print(&text) }
    }

    fn follow(&self) -> Result<(), CommandError> {
        let mut open: Vec<(LogFollower, LogLineFormatter)> = Vec::new();
        let mut known = BTreeSet::new();
        loop {
            let over = self.is_over()?;
            for entry in self.entries()? {
                if known.insert(entry.logs.path(&entry.attempt)) {
                    let own = |found: &ResolvedTask| entry.task.as_ref() == Some(&found.place);
                    let alone = self.selected.as_ref().is_some_and(own);
                    let prefix = (!alone).then(|| entry.name.clone());
                    let lines = LogLineFormatter::new(self.form(&entry, prefix));
                    open.push((entry.logs.follow(&entry.attempt), lines));
                }
            }
            for (follower, lines) in &mut open {
                for chunk in follower.next_chunks().map_err(unreadable)? {
                    self.write(&lines.push(&chunk))?;
                }
                while over && let Some(chunk) = follower.next_of_ended().map_err(unreadable)? {
                    self.write(&lines.push(&chunk))?;
                }
            }
            if over {
                break;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        for (_, lines) in &mut open {
            self.write(&lines.close())?;
        }
        Ok(())
    }

    /// True if no more output can come.
    fn is_over(&self) -> Result<bool, CommandError> {
        let row = self.reader.run(&self.run)?;
        if row.state != RunState::Running {
            return Ok(true);
        }
        let alive = self.reader.owner(&self.run)?.is_some_and(|owner| owner.alive);
        let Some(found) = &self.selected else {
            return Ok(!alive && row.parent.is_none());
        };
        let steps = self.reader.steps(&self.run)?;
        let ended = steps
            .iter()
            .find(|row| row.step == found.place.step && row.item == found.place.item)
            .is_some_and(|row| row.state.is_final());
        Ok(ended || (!alive && row.parent.is_none()))
    }

    fn no_logs(&self) -> CommandError {
        let run = self.run.short();
        match &self.selected {
            None => CommandError::new(CliExitCode::Usage, format!("no step of run {run} has started")),
            Some(found) => {
                let place = task_name(&self.reader, &self.run, &found.place);
                let place = place.unwrap_or_else(|_| found.place.to_string());
                let message = match found.attempt {
                    Some(number) => format!("`{place}` of run {run} has no attempt {number}"),
                    None => format!("`{place}` of run {run} has no output: it did not start, or was reused"),
                };
                CommandError::new(CliExitCode::Usage, message).hint(format!("for its state: wf show {run}"))
            }
        }
    }
}

fn attempt(row: &AttemptRow) -> Attempt {
    Attempt { place: TaskId { step: row.step.clone(), item: row.item }, attempt: row.attempt }
}

/// True if an attempt is of a task; a repeated step stands for all its items.
fn is_attempt_of(row: &AttemptRow, place: &TaskId) -> bool {
    row.step == place.step && (place.item.is_none() || place.item == row.item)
}

fn last_of_each(attempts: Vec<Attempt>) -> Vec<Attempt> {
    let mut last: Vec<Attempt> = Vec::new();
    for attempt in attempts {
        last.retain(|other| other.place != attempt.place);
        last.push(attempt);
    }
    last
}

#[expect(clippy::needless_pass_by_value, reason = "it is used where errors are mapped")]
fn unreadable(error: std::io::Error) -> CommandError {
    CommandError::new(CliExitCode::State, format!("cannot read the log: {error}"))
}
