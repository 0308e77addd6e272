use std::{collections::BTreeSet, time::Duration};

use clap::Args;

use crate::{
    Ui,
    log_lines::{HEADING, LogLineFormat, LogLineFormatter, last_lines},
    which::StepArg,
};
use wf_app::{
    CliExitCode, CommandError, StateReader,
    logs::DamagedLog,
    records::{AttemptLog, LogSelection, exchanges_text},
};
use wf_base::untrusted::{DIM, paint};
use wf_exec::log::{LogFollower, LogStream};

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
    pub step: StepArg,
    /// Follow output (like tail -f)
    #[arg(short, long)]
    pub follow: bool,
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
    pub tail: Option<usize>,
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

/// The interval of looks for new output.
const POLL_INTERVAL: Duration = Duration::from_millis(150);

/// Prints logs.
pub fn run(ui: &Ui, args: &LogsArgs) -> Result<CliExitCode, CommandError> {
    let state = StateReader::open(&ui.host.workspace())?;
    let (run, subject) = args.step.resolve(&state)?;
    let selection = LogSelection::find(ui, state, run, subject.as_ref())?;
    if args.calls {
        ui.print(&exchanges_text(selection.state(), &selection.run, selection.task.as_ref())?)?;
        return Ok(CliExitCode::Ok);
    }
    let view = LogView { ui, args, selection };
    let shown = if args.follow { view.follow() } else { view.print() };
    shown?;
    Ok(CliExitCode::Ok)
}

/// The maximum number of named damaged logs.
const MAX_NAMED: usize = 10;

struct LogView<'a> {
    ui: &'a Ui,
    args: &'a LogsArgs,
    selection: LogSelection,
}

impl LogView<'_> {
    fn form(&self, log: &AttemptLog, prefix: Option<String>) -> LogLineFormat {
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
            json_subject: json.then(|| (log.name.clone(), log.attempt.attempt)),
            raw: self.args.raw,
        }
    }

    fn print(&self) -> Result<(), CommandError> {
        let entries = self.selection.attempts()?;
        if entries.is_empty() {
            return Err(self.selection.no_logs());
        }
        let headed = entries.len() > 1 || self.selection.task.is_none();
        for entry in &entries {
            self.print_one(entry, headed)?;
        }
        self.check_damage(&entries)
    }

    /// Refuses logs differing from the record of their attempts, once they are printed.
    fn check_damage(&self, logs: &[AttemptLog]) -> Result<(), CommandError> {
        let damaged = self.selection.damaged(logs)?;
        let mut named: Vec<String> = damaged.iter().map(DamagedLog::to_string).collect();
        if named.is_empty() {
            return Ok(());
        }
        named.truncate(MAX_NAMED);
        let hint = "the files of the state were changed after the attempt ended; `wf restore` brings back a backup of the state";
        Err(CommandError::new(CliExitCode::State, named.join("; ")).hint(hint))
    }

    /// Prints a log; an empty log gets no heading.
    fn print_one(&self, log: &AttemptLog, headed: bool) -> Result<(), CommandError> {
        let headed = headed && !self.args.json;
        let mut lines = LogLineFormatter::new(self.form(log, None));
        let mut bytes = Vec::new();
        let mut last = None;
        let mut print = |text: Vec<u8>, is_end: bool| {
            if headed && last.is_none() && !text.is_empty() {
                let heading = format!("{HEADING}{}#{}", log.name, log.attempt.attempt);
                self.ui.print_line(&paint(DIM, &heading))?;
            }
            last = text.last().copied().or(last);
            bytes.extend(text);
            match self.args.tail {
                Some(count) => bytes = last_lines(&bytes, count),
                None => self.write(&std::mem::take(&mut bytes))?,
            }
            if is_end {
                self.write(&bytes)?;
            }
            Ok::<(), CommandError>(())
        };
        for chunk in log.logs.read_chunks(&log.attempt).map_err(unreadable)? {
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
        let mut paths = BTreeSet::new();
        loop {
            let over = self.selection.is_over()?;
            for entry in self.selection.attempts()? {
                if paths.insert(entry.logs.path(&entry.attempt)) {
                    let alone = self.selection.is_selected(&entry);
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
}

#[expect(clippy::needless_pass_by_value, reason = "it is used where errors are mapped")]
fn unreadable(error: std::io::Error) -> CommandError {
    CommandError::new(CliExitCode::State, format!("cannot read the log: {error}"))
}
