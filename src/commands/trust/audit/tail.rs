use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use clap::Args;

use crate::Ui;
use wf_app::audit_log::record_details;
use wf_app::{CliExitCode, CommandError, Host};
use wf_audit::{self as audit, AuditLogLines, AuditRecord};
use wf_base::untrusted::styled_line;
use wf_base::untrusted::{BAD, DIM, NAME, paint};
use wf_store::StoreError;

/// The interval at which a followed log is read.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Show the last records of the audit log
#[derive(Args, Debug)]
pub struct AuditTailArgs {
    /// Number of records
    #[arg(short = 'n', long, value_name = "N", default_value = "20")]
    limit: usize,
    /// Follow output (like tail -f)
    #[arg(short, long)]
    follow: bool,
    /// Print the lines unmodified
    #[arg(long)]
    json: bool,
}

/// Prints the end of the log.
pub fn run(ui: &Ui, args: &AuditTailArgs) -> Result<CliExitCode, CommandError> {
    let path = audit::path(&ui.host.workspace().state);
    let failed = |error| CommandError::from(StoreError::io("read", &path, &error));
    let (mut lines, mut read) = read_after(&path, 0).map_err(failed)?;
    if read == 0 && !args.follow {
        return Err(no_audit_log(&ui.host));
    }
    lines.drain(..lines.len().saturating_sub(args.limit));
    loop {
        let text: String = lines.iter().map(|line| record_line(line, args.json)).collect();
        if args.json {
            ui.print_json(&text)?;
        } else {
            ui.print(&text)?;
        }
        if !args.follow {
            return Ok(CliExitCode::Ok);
        }
        std::thread::sleep(POLL_INTERVAL);
        let (new, more) = read_after(&path, read).map_err(failed)?;
        lines = new;
        read += more;
    }
}

/// The failure for a workspace without an audit log.
pub(super) fn no_audit_log(host: &Host) -> CommandError {
    let message = format!("no audit log found in {}", host.workspace().state.display());
    CommandError::new(CliExitCode::Usage, message)
        .hint("run a plan first, or pass the state directory with --state")
}

/// Reads the lines after an offset of the log, and returns the number of their bytes.
fn read_after(path: &Path, from: u64) -> io::Result<(Vec<String>, u64)> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    if let Some(mut text) = AuditLogLines::open(path, from)? {
        while let Some(line) = text.next_line()? {
            bytes += line.len() as u64 + 1;
            lines.push(line);
        }
    }
    Ok((lines, bytes))
}

fn record_line(line: &str, json: bool) -> String {
    if json {
        return format!("{line}\n");
    }
    let Ok(record) = AuditRecord::parse(line) else {
        return format!("{}\n", paint(BAD, "an altered line"));
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
    text += &record_details(entry);
    format!("{}\n", styled_line(&text))
}
