use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::audit::{self, Lines, Record};
use crate::cli::{Exit, Failure, Ui};
use crate::report::{BAD, DIM, NAME, paint};
use crate::store::StoreError;
use crate::untrusted::styled_line;

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Show the last records of the audit log
#[derive(Args, Debug)]
pub struct TailArgs {
    /// How many
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    limit: usize,
    /// Go on with those that are added
    #[arg(short, long)]
    follow: bool,
    /// Write the lines as they are
    #[arg(long)]
    json: bool,
}

/// Shows the end of the log.
pub fn run(ui: &Ui, args: &TailArgs) -> Result<Exit, Failure> {
    let path = audit::path(&ui.workspace().state);
    let failed = |error| Failure::from(StoreError::io("read", &path, &error));
    let (mut lines, mut read) = after(&path, 0).map_err(failed)?;
    if read == 0 && !args.follow {
        return Err(nothing(ui));
    }
    lines.drain(..lines.len().saturating_sub(args.limit));
    loop {
        let text: String = lines.iter().map(|line| shown(line, args.json)).collect();
        if args.json {
            ui.print_json(&text)?;
        } else {
            ui.print(&text)?;
        }
        if !args.follow {
            return Ok(Exit::Ok);
        }
        std::thread::sleep(LOOK);
        let (new, more) = after(&path, read).map_err(failed)?;
        lines = new;
        read += more;
    }
}

/// What is said where nobody ever watched.
pub(super) fn nothing(ui: &Ui) -> Failure {
    let message = format!(
        "there is no audit log in {}",
        ui.workspace().state.display()
    );
    Failure::new(Exit::Usage, message)
        .hint("run a plan first, or name the state folder with --state")
}

/// The lines behind a place of the log, and how many bytes they are.
fn after(path: &Path, from: u64) -> io::Result<(Vec<String>, u64)> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    if let Some(mut text) = Lines::open(path, from)? {
        while let Some(line) = text.next_line()? {
            bytes += line.len() as u64 + 1;
            lines.push(line);
        }
    }
    Ok((lines, bytes))
}

fn shown(line: &str, json: bool) -> String {
    if json {
        return format!("{line}\n");
    }
    let Ok(record) = Record::parse(line) else {
        return format!("{}\n", paint(BAD, "a line that was changed"));
    };
    let entry = &record.entry;
    let mut text = format!(
        "{} {} {}",
        paint(DIM, &format!("{:>6}", record.n)),
        paint(DIM, &entry.at.to_string()),
        paint(NAME, &entry.kind)
    );
    if let Some(run) = &entry.run {
        let _ = write!(text, " {}", run.short());
    }
    let place = entry.path.iter().chain(&entry.place);
    let place: Vec<&str> = place.map(String::as_str).collect();
    if !place.is_empty() {
        let _ = write!(text, " {}", place.join("/"));
    }
    let about = entry.about.iter();
    for (key, value) in about.filter(|(key, _)| is_told(&entry.kind, key)) {
        text += &pair(key, value);
    }
    format!("{}\n", styled_line(&text))
}

/// Whether a part of a record is worth a place on a line.
fn is_told(kind: &str, key: &str) -> bool {
    match kind {
        "report" => key == "trigger",
        _ => key != "boot",
    }
}

/// What a record is about, in few words.
fn pair(key: &str, value: &Value) -> String {
    match value {
        Value::String(word) => format!(" {key}={word}"),
        Value::Number(_) | Value::Bool(_) => format!(" {key}={value}"),
        Value::Object(fields) => {
            let plain = fields
                .iter()
                .filter(|(_, value)| !value.is_object() && !value.is_array());
            plain
                .map(|(inner, value)| pair(&format!("{key}.{inner}"), value))
                .collect()
        }
        _ => String::new(),
    }
}
