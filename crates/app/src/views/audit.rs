use serde::Serialize;

use super::state_reader;
use crate::{
    Caller, CommandError,
    state::audit_log::{AuditLine, describe_start, find_record, latest_lines, record_details, verify_logs},
};
use wf_audit::AuditRecord;
use wf_base::{name::RunId, time::Moment};
use wf_store::StoreError;

const PAGE_RECORDS: usize = 100;

/// A choice of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// The kind; empty: every kind.
    pub kind: String,
    /// The beginning of the id of a run; empty: any, and none.
    pub run: String,
    /// The text in a record, such as the name of a person or the id of a key; empty: any.
    pub text: String,
    /// The offset before which they lie; `None`: the end of the log.
    pub before: Option<u64>,
}

/// A page of the audit log.
#[derive(Debug, Default, Serialize)]
pub struct AuditPage {
    /// The records, newest first.
    pub records: Vec<AuditRecordView>,
    /// The offset before which the next page begins; `None`: there are no older ones.
    pub older: Option<u64>,
}

/// A record of the audit log.
#[derive(Debug, Serialize)]
pub struct AuditRecordView {
    /// Its number.
    pub n: u64,
    pub at: Option<Moment>,
    pub kind: String,
    pub run: Option<RunId>,
    pub plan: Option<String>,
    /// The step, below those above its run.
    pub place: String,
    /// The summary.
    pub details: String,
    /// The whole line.
    pub line: String,
    /// The reason why the line is no record any more.
    pub fault: Option<String>,
}

/// The result of the verification of both logs.
#[derive(Debug, Serialize)]
pub struct AuditVerification {
    /// True if nothing shows that they were altered.
    pub holds: bool,
    /// The number of events in the database.
    pub events: u64,
    /// The number of records in the audit log.
    pub records: u64,
    /// The signs of tampering.
    pub faults: Vec<String>,
    /// The irregularities with an explanation.
    pub notes: Vec<String>,
}

/// Returns a page of the audit log, newest first.
pub fn audit_page(caller: &dyn Caller, query: &AuditQuery) -> Result<AuditPage, CommandError> {
    let path = wf_audit::path(&caller.host().workspace().state);
    let is_wanted =
        |line: &AuditLine| line.as_ref().is_ok_and(|record| query.admits(record)) || query.admits_fault(line);
    let page = latest_lines(&path, query.before, PAGE_RECORDS, &is_wanted)
        .map_err(|error| CommandError::from(StoreError::io("read", &path, &error)))?;
    Ok(AuditPage { records: page.lines.into_iter().map(AuditRecordView::of).collect(), older: page.older })
}

/// Returns a record by its number; `None` if there is none.
pub fn audit_record(caller: &dyn Caller, number: u64) -> Result<Option<AuditRecordView>, CommandError> {
    let path = wf_audit::path(&caller.host().workspace().state);
    let audit_record = find_record(&path, number)
        .map_err(|error| CommandError::from(StoreError::io("read", &path, &error)))?;
    Ok(audit_record.map(|record| AuditRecordView::of(Ok(record))))
}

/// Verifies both logs, as `wf audit verify` does; `None` if there is no history yet.
pub fn audit_verification(caller: &dyn Caller) -> Result<Option<AuditVerification>, CommandError> {
    let has_log = wf_audit::path(&caller.host().workspace().state).exists();
    if !has_log && state_reader(caller)?.is_none() {
        return Ok(None);
    }
    let findings = verify_logs(caller.host(), None, false)?;
    Ok(Some(AuditVerification {
        holds: findings.evidence.is_empty(),
        events: findings.events,
        records: findings.records,
        faults: findings.evidence.iter().map(ToString::to_string).collect(),
        notes: describe_start(&findings)
            .map(|since| format!("since {since}"))
            .into_iter()
            .chain(findings.notes.iter().map(ToString::to_string))
            .collect(),
    }))
}

impl AuditQuery {
    fn admits(&self, record: &AuditRecord) -> bool {
        let entry = &record.entry;
        let run = entry.run.as_ref().map_or("", RunId::as_str);
        (self.kind.is_empty() || self.kind == entry.kind)
            && run.starts_with(&self.run)
            && (self.text.is_empty() || record.line().to_lowercase().contains(&self.text.to_lowercase()))
    }

    /// True for a line that is no record, if nothing is searched for: it has nothing that could be compared.
    fn admits_fault(&self, line: &AuditLine) -> bool {
        line.is_err() && self.kind.is_empty() && self.run.is_empty() && self.text.is_empty()
    }
}

impl AuditRecordView {
    fn of(line: AuditLine) -> Self {
        match line {
            Err(fault) => Self {
                n: 0,
                at: None,
                kind: "altered".into(),
                run: None,
                plan: None,
                place: String::new(),
                details: String::new(),
                line: String::new(),
                fault: Some(fault.to_string()),
            },
            Ok(record) => {
                let line = record.line();
                let entry = record.entry;
                let place: Vec<&str> = entry.path.iter().chain(&entry.place).map(String::as_str).collect();
                Self {
                    n: record.n,
                    at: Some(entry.at),
                    place: place.join("/"),
                    details: record_details(&entry).trim_start().to_owned(),
                    kind: entry.kind,
                    run: entry.run,
                    plan: entry.plan.map(|plan| plan.as_str().to_owned()),
                    line,
                    fault: None,
                }
            }
        }
    }
}
