use std::{fmt::Write as _, time::Duration};

use clap::Args;

use crate::Ui;
use wf_app::{
    CliExitCode, CommandError, Host,
    audit_log::{AuditRecords, record_details},
};
use wf_audit::AuditRecord;
use wf_base::untrusted::{BAD, DIM, NAME, paint, styled_line};

/// The interval of reads of a followed log.
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
    let (mut lines, mut read) = lines_after(&ui.host, 0)?;
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
        let (new, more) = lines_after(&ui.host, read)?;
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
fn lines_after(host: &Host, from: u64) -> Result<(Vec<String>, u64), CommandError> {
    let (mut records, mut lines) = (AuditRecords::open(host, from)?, Vec::new());
    while let Some(line) = records.next_line()? {
        lines.push(line);
    }
    Ok((lines, records.bytes))
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
