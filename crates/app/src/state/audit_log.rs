//! The audit log as people see it: verified, and record by record from its end.

use std::{
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::kept_checkpoint::{keep_checkpoint, read_checkpoint};
use crate::{Caller, CommandError, Host, watch};
use wf_audit::{
    self as audit, AuditEntry, AuditFindings, AuditLogLines, AuditRecord, Checkpoint, LineFault,
    TamperEvidence,
};
use wf_base::digest::Sha256Digest;
use wf_store::{StateFault, StoreError, StoreReader, feed::WorkspaceAction};

/// The bytes that are read from the log at once, and the most that one page searches.
const WINDOW: u64 = 1 << 20;
const MAX_BYTES: u64 = 8 << 20;

/// A line of the log: a record, or the fault because of which it is none.
pub type AuditLine = Result<AuditRecord, LineFault>;

/// Lines of the log, newest first.
#[derive(Debug, Default)]
pub struct AuditLinePage {
    pub lines: Vec<AuditLine>,
    /// The offset before which the next page begins; `None`: there are no older lines.
    pub older: Option<u64>,
}

/// The records of the audit log of a workspace, from its beginning or from an offset on.
pub struct AuditRecords {
    lines: Option<AuditLogLines>,
    path: PathBuf,
    /// The number of bytes that were read.
    pub bytes: u64,
}

impl AuditRecords {
    /// Opens the log at an offset.
    pub fn open(host: &Host, from: u64) -> Result<Self, CommandError> {
        let path = audit::path(&host.workspace().state);
        let lines =
            AuditLogLines::open(&path, from).map_err(|error| StoreError::io("read", &path, &error))?;
        Ok(Self { lines, path, bytes: 0 })
    }

    /// True if there is a log.
    pub fn exist(&self) -> bool {
        self.lines.is_some()
    }

    /// Returns the next line; `None` at the end.
    pub fn next_line(&mut self) -> Result<Option<String>, CommandError> {
        let Some(lines) = &mut self.lines else {
            return Ok(None);
        };
        let line = lines.next_line().map_err(|error| StoreError::io("read", &self.path, &error))?;
        self.bytes += line.as_ref().map_or(0, |line| line.len() as u64 + 1);
        Ok(line)
    }
}

/// True if a fault can be repaired: the tables beside an intact log are rebuilt from it.
pub fn is_repairable(evidence: &TamperEvidence) -> bool {
    matches!(evidence, TamperEvidence::State(StateFault::Projection(_)))
}

/// Records that a person made a checkpoint, with the key that signed it.
pub fn record_checkpoint(caller: &dyn Caller, key: Option<Sha256Digest>) -> Result<(), CommandError> {
    Ok(watch::record_act(caller, WorkspaceAction::Checkpointed { key })?)
}

/// Verifies both logs: from the kept checkpoint on, unless everything is to be verified or compared with another checkpoint. A
/// verification from a checkpoint on that finds anything is followed by one of everything.
pub fn verify_logs(
    host: &Host,
    checkpoint: Option<&Checkpoint>,
    is_full: bool,
) -> Result<AuditFindings, CommandError> {
    let state = host.workspace().state;
    if !audit::path(&state).exists()
        && let Err(error @ StoreError::NoState(_)) = StoreReader::open(&state)
        && checkpoint.is_none()
    {
        return Err(error.into());
    }
    let kept_checkpoint = if is_full || checkpoint.is_some() { None } else { read_checkpoint(host) };
    let short = kept_checkpoint
        .and_then(|checkpoint| audit::verify_since(&state, &checkpoint, host.now()).ok().flatten());
    match short {
        Some(findings) => Ok(findings),
        None => Ok(audit::verify(&state, checkpoint, host.now())?),
    }
}

/// Keeps the checkpoint of a verification, if that found nothing without the help of another checkpoint.
pub fn keep_verification(host: &Host, findings: &AuditFindings) {
    if findings.evidence.is_empty() {
        keep_checkpoint(host, &findings.checkpoint);
    }
}

/// Says from where on the logs were verified; `None`: from their beginning.
pub fn describe_start(findings: &AuditFindings) -> Option<String> {
    let since = findings.since_checkpoint.as_ref()?;
    let (event, record) = (since.database.map_or(0, |event| event.seq) + 1, since.log.n + 1);
    let at = since.at.to_second();
    Some(format!("the verification of {at}: from event {event} and record {record} on"))
}

/// Returns the latest wanted lines before an offset, newest first. The log is searched backwards, and no further than some
/// megabytes.
pub fn latest_lines(
    path: &Path,
    before: Option<u64>,
    limit: usize,
    is_wanted: &dyn Fn(&AuditLine) -> bool,
) -> io::Result<AuditLinePage> {
    let Range { start, end } = audit::range(path)?;
    let mut before = before.unwrap_or(end).min(end);
    let last = before.saturating_sub(MAX_BYTES).max(start);
    let mut page = AuditLinePage::default();
    while before > last {
        let from = before.saturating_sub(WINDOW).max(start);
        let lines = lines_between(path, start, from, before)?;
        // A line longer than a window is passed over in the same way.
        let first = lines.first().map_or(from, |(offset, _)| *offset);
        for (offset, line) in lines.into_iter().rev() {
            if !is_wanted(&line) {
                continue;
            }
            page.lines.push(line);
            if page.lines.len() >= limit {
                page.older = (offset > start).then_some(offset);
                return Ok(page);
            }
        }
        before = first;
    }
    page.older = (before > start).then_some(before);
    Ok(page)
}

/// Returns the record with a number; `None` if no unaltered line has it.
pub fn find_record(path: &Path, number: u64) -> io::Result<Option<AuditRecord>> {
    let Range { start, end } = audit::range(path)?;
    let (mut low, mut high) = (start, end);
    // Numbers grow with offsets: each look halves the part of the log in which the record is.
    while high - low > WINDOW {
        let middle = low + (high - low) / 2;
        let first = lines_between(path, start, middle, (middle + WINDOW).min(high))?.into_iter();
        match first.into_iter().find_map(|(offset, line)| Some((offset, line.ok()?.n))) {
            Some((offset, found)) if found <= number => low = offset,
            _ => high = middle,
        }
    }
    // The last line of the part may end after it.
    let lines = lines_between(path, start, low, high.saturating_add(WINDOW))?;
    Ok(lines.into_iter().filter_map(|(_, line)| line.ok()).find(|record| record.n == number))
}

/// Returns the lines of a log, from its own offset on, that begin between two offsets, each with its own; the rest of a line
/// before them is left out.
fn lines_between(path: &Path, start: u64, from: u64, until: u64) -> io::Result<Vec<(u64, AuditLine)>> {
    let mut is_rest = from > start;
    // The line that begins exactly there is preceded by the end of another one.
    let mut offset = from - u64::from(is_rest);
    let Some(mut text) = AuditLogLines::open(path, offset)? else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    while offset < until
        && let Some(line) = text.next_line()?
    {
        let begins = offset;
        offset += line.len() as u64 + 1;
        if !std::mem::take(&mut is_rest) {
            lines.push((begins, AuditRecord::parse(&line)));
        }
    }
    Ok(lines)
}

/// Returns the summary of a record in a few words, each with a space before it.
pub fn record_details(entry: &AuditEntry) -> String {
    let shown = entry.about.iter().filter(|(key, _)| is_shown_field(&entry.kind, key));
    shown.map(|(key, value)| pair(key, value)).collect()
}

/// True if a field of a record is shown on its line.
fn is_shown_field(kind: &str, key: &str) -> bool {
    match kind {
        "report" => key == "trigger",
        "segment_started" => key == "bytes",
        _ => key != "boot",
    }
}

/// A field of a record, in a few words.
fn pair(key: &str, value: &Value) -> String {
    match value {
        Value::String(word) => format!(" {key}={word}"),
        Value::Number(_) | Value::Bool(_) => format!(" {key}={value}"),
        Value::Object(fields) => {
            let plain = fields.iter().filter(|(_, value)| !value.is_object() && !value.is_array());
            plain.map(|(inner, value)| pair(&format!("{key}.{inner}"), value)).collect()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;
    use wf_base::time::Moment;

    /// A log of so many records.
    fn log(count: u64, dir: &Path) -> std::path::PathBuf {
        let mut text = String::new();
        let path = audit::path(dir);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut prev = wf_base::digest::Sha256Digest::from([0; 32]);
        for n in 1..=count {
            let entry = AuditEntry::new(Moment::default(), if n % 2 == 0 { "even" } else { "odd" });
            let entry = entry.with_summary(&serde_json::json!({"text": "x".repeat(1000), "boot": 1}));
            let record = entry.bind(n, prev);
            prev = record.hash;
            let _ = writeln!(text, "{}", record.line());
        }
        std::fs::write(&path, text).unwrap();
        path
    }

    fn numbers(page: &AuditLinePage) -> Vec<u64> {
        page.lines.iter().map(|line| line.as_ref().unwrap().n).collect()
    }

    #[test]
    fn pages_follow_each_other_backwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(3_000, dir.path());
        let mut shown_numbers = Vec::new();
        let mut before = None;
        loop {
            let page = latest_lines(&path, before, 700, &|_| true).unwrap();
            shown_numbers.extend(numbers(&page));
            before = page.older;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(shown_numbers, (1..=3_000).rev().collect::<Vec<u64>>(), "each once, over several windows");
        let even = |line: &AuditLine| line.as_ref().is_ok_and(|record| record.entry.kind == "even");
        let page = latest_lines(&path, None, 3, &even).unwrap();
        assert_eq!(numbers(&page), [3_000, 2_998, 2_996]);
    }

    #[test]
    fn a_record_is_found_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(3_000, dir.path());
        for number in [1, 2, 999, 1_500, 2_999, 3_000] {
            assert_eq!(find_record(&path, number).unwrap().unwrap().n, number);
        }
        for number in [0, 3_001] {
            assert!(find_record(&path, number).unwrap().is_none());
        }
        assert!(find_record(&dir.path().join("none"), 1).unwrap().is_none());
    }

    #[test]
    fn an_altered_line_is_one_fault_among_records() {
        let dir = tempfile::tempdir().unwrap();
        let path = log(3, dir.path());
        let text = std::fs::read_to_string(&path).unwrap().replacen("even", "eveN", 1);
        std::fs::write(&path, text).unwrap();
        let page = latest_lines(&path, None, 10, &|_| true).unwrap();
        let faults: Vec<bool> = page.lines.iter().map(Result::is_err).collect();
        assert_eq!(faults, [false, true, false]);
    }

    #[test]
    fn a_summary_leaves_out_the_boot() {
        let entry = AuditEntry::new(Moment::default(), "goal_paused");
        let entry = entry.with_summary(&serde_json::json!({"goal": "mirror", "boot": 1}));
        assert_eq!(record_details(&entry), " goal=mirror");
    }
}
