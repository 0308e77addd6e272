use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::cli::log_lines::{Form, HEADING, LogLines, last_lines};
use crate::cli::which::{Found, StepArg, called, find};
use crate::cli::{Exit, Failure, Ui};
use crate::exec::log::{self, Follower, Stream};
use crate::machine::{Attempt, Place};
use crate::name::RunId;
use crate::report::{DIM, paint};
use crate::store::{AttemptRow, Folder, Reader, RunState};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wf logs --last                   everything that the latest run printed
  wf logs 1a2b build               what the last attempt of `build` printed
  wf logs 1a2b fetch[2]#1 --tail 20
  wf logs --last build -f          as it comes
  wf logs --last build --raw       the very bytes, with colours and all
  wf logs --last --json            for a program")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct LogsArgs {
    #[command(flatten)]
    step: StepArg,
    /// Go on while more comes
    #[arg(short, long)]
    follow: bool,
    /// Only standard output
    #[arg(long, conflicts_with = "stderr")]
    stdout: bool,
    /// Only standard error
    #[arg(long)]
    stderr: bool,
    /// The time before each line
    #[arg(short, long)]
    timestamps: bool,
    /// Only the last lines
    #[arg(long, value_name = "N", conflicts_with = "follow")]
    tail: Option<usize>,
    /// Write every line as a line of JSON
    #[arg(long, conflicts_with = "timestamps")]
    json: bool,
    /// Write what was printed as it is, whatever a terminal makes of it
    #[arg(long, conflicts_with_all = ["json", "timestamps"])]
    raw: bool,
}

/// How often more is looked for.
const PAUSE: Duration = Duration::from_millis(150);

/// Shows logs.
pub fn run(ui: &Ui, args: &LogsArgs) -> Result<Exit, Failure> {
    let state = ui.workspace().state;
    let reader = Reader::open(&state)?;
    let (run, subject) = args.step.resolve(&reader)?;
    let found = subject
        .map(|subject| find(run.clone(), &subject, &reader))
        .transpose()?;
    let run = found.as_ref().map_or(run, |found| found.run.clone());
    let view = View {
        ui,
        args,
        folder: Folder::new(&state),
        reader,
        run,
        found,
    };
    let shown = if args.follow {
        view.follow()
    } else {
        view.print()
    };
    shown?;
    Ok(Exit::Ok)
}

/// The log of an attempt.
struct Entry {
    path: PathBuf,
    /// The place, if it is one of the run itself.
    place: Option<Place>,
    /// The place as people are shown it, below those above it.
    name: String,
    attempt: u32,
}

/// How deep nested runs are shown.
const DEPTH: usize = 32;

struct View<'a> {
    ui: &'a Ui,
    args: &'a LogsArgs,
    folder: Folder,
    reader: Reader,
    run: RunId,
    found: Option<Found>,
}

impl View<'_> {
    fn form(&self, entry: &Entry, prefix: Option<String>) -> Form {
        let json = self.args.json;
        let only = match (self.args.stdout, self.args.stderr) {
            (true, _) => Some(Stream::Out),
            (_, true) => Some(Stream::Err),
            _ => None,
        };
        Form {
            only,
            timestamps: self.args.timestamps,
            prefix: prefix.filter(|_| !json),
            object: json.then(|| (entry.name.clone(), entry.attempt)),
            raw: self.args.raw,
        }
    }

    /// The attempts that are meant, each before those of the run nested in it.
    fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let mut entries = Vec::new();
        self.collect((&self.run, self.attempts()?), "", DEPTH, &mut entries)?;
        Ok(entries)
    }

    fn attempts(&self) -> Result<Vec<Attempt>, Failure> {
        let all = self.reader.attempts(&self.run)?;
        let Some(found) = &self.found else {
            return Ok(all.iter().map(attempt).collect());
        };
        let own = all.iter().filter(|row| is_of(row, &found.place));
        let own = own.map(attempt);
        Ok(match found.attempt {
            Some(n) => own.filter(|attempt| attempt.attempt == n).collect(),
            None => last_of_each(own.collect()),
        })
    }

    fn collect(
        &self,
        (run, attempts): (&RunId, Vec<Attempt>),
        above: &str,
        depth: usize,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Failure> {
        let mut children = BTreeMap::new();
        for (child, of) in self.reader.children(run)? {
            children.insert(of, child);
        }
        for own in attempts {
            let own_name = called(&self.reader, run, &own.place)?;
            let name = format!("{above}{own_name}");
            entries.push(Entry {
                place: above.is_empty().then(|| own.place.clone()),
                path: log::path(&self.folder.run(run), &own),
                name: name.clone(),
                attempt: own.attempt,
            });
            if let Some(child) = children.get(&own.to_string()).filter(|_| depth > 0) {
                let inner = self.reader.attempts(child)?.iter().map(attempt).collect();
                self.collect((child, inner), &format!("{name}/"), depth - 1, entries)?;
            }
        }
        Ok(())
    }

    fn print(&self) -> Result<(), Failure> {
        let entries = self.entries()?;
        if entries.is_empty() {
            return Err(self.nothing());
        }
        let headed = entries.len() > 1 || self.found.is_none();
        for entry in &entries {
            self.print_one(entry, headed)?;
        }
        Ok(())
    }

    /// Prints a log; what printed nothing gets no heading.
    fn print_one(&self, entry: &Entry, headed: bool) -> Result<(), Failure> {
        let headed = headed && !self.args.json;
        let mut lines = LogLines::new(self.form(entry, None));
        let mut kept = Vec::new();
        let mut last = None;
        let mut print = |text: Vec<u8>, is_end: bool| {
            if headed && last.is_none() && !text.is_empty() {
                let heading = format!("{HEADING}{}#{}", entry.name, entry.attempt);
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
            Ok::<(), Failure>(())
        };
        for chunk in log::read(&entry.path).map_err(unreadable)? {
            print(lines.push(&chunk.map_err(unreadable)?), false)?;
        }
        print(lines.close(), true)?;
        if headed && last.is_some_and(|last| last != b'\n') {
            self.ui.print("\n")?;
        }
        Ok(())
    }

    fn write(&self, text: &[u8]) -> Result<(), Failure> {
        if self.args.raw {
            return self.ui.print_bytes(text);
        }
        let text = String::from_utf8_lossy(text);
        if self.args.json {
            self.ui.print_json(&text)
        } else {
            self.ui.print(&text)
        }
    }

    fn follow(&self) -> Result<(), Failure> {
        let mut open: Vec<(Follower, LogLines)> = Vec::new();
        let mut known = BTreeSet::new();
        loop {
            let over = self.is_over()?;
            for entry in self.entries()? {
                if known.insert(entry.path.clone()) {
                    let own = |found: &Found| entry.place.as_ref() == Some(&found.place);
                    let alone = self.found.as_ref().is_some_and(own);
                    let prefix = (!alone).then(|| entry.name.clone());
                    let lines = LogLines::new(self.form(&entry, prefix));
                    open.push((Follower::new(entry.path), lines));
                }
            }
            for (follower, lines) in &mut open {
                for chunk in follower.more().map_err(unreadable)? {
                    self.write(&lines.push(&chunk))?;
                }
            }
            if over {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        for (_, lines) in &mut open {
            self.write(&lines.close())?;
        }
        Ok(())
    }

    /// Whether nothing more can come.
    fn is_over(&self) -> Result<bool, Failure> {
        let row = self.reader.run(&self.run)?;
        if row.state != RunState::Running {
            return Ok(true);
        }
        let alive = self
            .reader
            .owner(&self.run)?
            .is_some_and(|owner| owner.alive);
        let Some(found) = &self.found else {
            return Ok(!alive && row.parent.is_none());
        };
        let steps = self.reader.steps(&self.run)?;
        let ended = steps
            .iter()
            .find(|row| row.step == found.place.step && row.item == found.place.item)
            .is_some_and(|row| row.state.is_final());
        Ok(ended || (!alive && row.parent.is_none()))
    }

    fn nothing(&self) -> Failure {
        let run = self.run.short();
        match &self.found {
            None => Failure::new(Exit::Usage, format!("no step of run {run} has begun")),
            Some(found) => {
                let place = called(&self.reader, &self.run, &found.place);
                let place = place.unwrap_or_else(|_| found.place.to_string());
                let message = format!("`{place}` of run {run} has not begun");
                Failure::new(Exit::Usage, message).hint(format!("wf show {run}"))
            }
        }
    }
}

fn attempt(row: &AttemptRow) -> Attempt {
    Attempt {
        place: Place {
            step: row.step.clone(),
            item: row.item,
        },
        attempt: row.attempt,
    }
}

/// Whether an attempt is of a place; a repeated step stands for all its items.
fn is_of(row: &AttemptRow, place: &Place) -> bool {
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

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is used where errors are mapped"
)]
fn unreadable(error: std::io::Error) -> Failure {
    Failure::new(Exit::State, format!("the log cannot be read: {error}"))
}
