use std::{fs, path::Path};

use proptest::prelude::*;

use crate::{
    log::{
        audit_log::{AuditLog, FOLDER, LOG},
        read::{AuditLogLines, path},
    },
    records::{
        ledger::AuditLogState,
        record::{AuditEntry, AuditRecord, AuditSource},
        words::{AUDITOR_STARTED, AUDITOR_STOPPED, AuditorLifecycleBody, AuditorSession, REPORT},
    },
    stats::{AuditReport, ReportTrigger, ReportWindow},
};
use wf_base::{digest::Sha256Digest, name::RunId, time::Moment};
use wf_store::{ProcessIdentity, feed::LogAnchor};

/// An action of one of several writers.
#[derive(Clone, Copy, Debug)]
enum Act {
    Open,
    Close,
    Event,
    Read,
    Report,
    /// Starts a new file of the log.
    Segment,
    /// Dies between the log and its mark: the mark is unchanged.
    Die,
    /// The mark is gone, or is nonsense, while the log is short enough to be read whole.
    Unmark(bool),
}

fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        2 => Just(Act::Open),
        1 => Just(Act::Close),
        6 => Just(Act::Event),
        3 => Just(Act::Read),
        2 => Just(Act::Report),
        1 => Just(Act::Segment),
        1 => Just(Act::Die),
        1 => any::<bool>().prop_map(Act::Unmark),
    ];
    prop::collection::vec((0usize..3, act), 1..60)
}

fn mark(state: &Path) -> std::path::PathBuf {
    state.join(FOLDER).join("log.mark")
}

fn length(state: &Path) -> u64 {
    let log = state.join(FOLDER).join(LOG);
    fs::metadata(log).unwrap().len()
}

/// Returns the records of the log, and checks each against its hash.
fn records(state: &Path) -> Vec<AuditRecord> {
    let mut lines = AuditLogLines::open(&path(state), 0).unwrap().unwrap();
    let mut records = Vec::new();
    while let Some(line) = lines.next_line().unwrap() {
        records.push(AuditRecord::parse(&line).unwrap());
    }
    records
}

/// Returns the known state of a log, from all of it.
fn of_all(state: &Path) -> (AuditLogState, AuditReport) {
    let (mut ledger, mut window) = (AuditLogState::default(), ReportWindow::default());
    for record in records(state) {
        ledger.add(&record);
        window.add(&record);
    }
    (ledger, window.report(ReportTrigger::End, None))
}

fn event(n: u64) -> AuditEntry {
    let kinds = ["run_started", "attempt_started", "attempt_ended", "step_ended", "run_ended"];
    let at = Moment::from_millis(i64::try_from(n * 7 % 100).unwrap());
    AuditEntry {
        run: Some(RunId::from_bytes([u8::try_from(n % 3).unwrap(); 16])),
        place: Some("build".into()),
        db: Some(LogAnchor { seq: n, hash: Sha256Digest::of_bytes(&n.to_le_bytes()) }),
        ..AuditEntry::new(at, kinds[usize::try_from(n).unwrap() % 5])
    }
    .with_summary(&serde_json::json!({ "attempt": n % 4 }))
}

fn shift(auditor: u64, session: Vec<AuditorSession>, seq: u64) -> AuditorLifecycleBody {
    let boot = ProcessIdentity::current().boot;
    AuditorLifecycleBody { auditor, open: session, seq, boot, lost: 0 }
}

fn act(log: &mut AuditLog, act: Act) {
    log.add(|turn| {
        let (at, seq) = (Moment::default(), turn.ledger().seq);
        let mut open = turn.ledger().open.clone();
        let n = turn.ledger().n + 1;
        match act {
            Act::Open => {
                open.push(AuditorSession { n, process: ProcessIdentity::current() });
                turn.add(AuditEntry::new(at, AUDITOR_STARTED).with_summary(&shift(n, open, seq)));
            }
            Act::Close if !open.is_empty() => {
                let gone = open.remove(0).n;
                turn.add(AuditEntry::new(at, AUDITOR_STOPPED).with_summary(&shift(gone, open, seq)));
            }
            Act::Report | Act::Segment => {
                let report = turn.window().unwrap().report(ReportTrigger::End, None);
                if matches!(act, Act::Segment) {
                    turn.start_segment(1, at).unwrap();
                }
                turn.add(AuditEntry::new(at, REPORT).with_summary(&report));
            }
            Act::Read => {
                let by = open.first().map_or(0, |session| session.n);
                let read = crate::records::words::DatabaseReadBody { by, late: false };
                let source = AuditSource::Database;
                turn.add(AuditEntry { source, ..event(seq + 1).with_summary(&read) });
            }
            _ => turn.add(event(seq + 1)),
        }
    })
    .unwrap();
}

fn known(log: &mut AuditLog) -> (AuditLogState, AuditReport) {
    let mut known = None;
    log.add(|turn| {
        let report = turn.window().unwrap().report(ReportTrigger::End, None);
        known = Some((turn.ledger().clone(), report));
    })
    .unwrap();
    known.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A writer knows as much as if it had read everything, whatever the others do.
    #[test]
    fn what_is_known_is_what_all_comes_to(acts in acts()) {
        let dir = tempfile::tempdir().unwrap();
        let mut logs: Vec<AuditLog> = (0..3).map(|_| AuditLog::open(dir.path()).unwrap()).collect();
        for (who, what) in acts {
            match what {
                Act::Die => {
                    let before = fs::read(mark(dir.path()));
                    act(&mut logs[who], what);
                    if let Ok(before) = before {
                        fs::write(mark(dir.path()), before).unwrap();
                    }
                    logs[who] = AuditLog::open(dir.path()).unwrap();
                }
                Act::Unmark(_) if length(dir.path()) > 8 * 1024 => {}
                Act::Unmark(true) => drop(fs::remove_file(mark(dir.path()))),
                Act::Unmark(false) => fs::write(mark(dir.path()), "1 nothing\n{}\n").unwrap(),
                _ => act(&mut logs[who], what),
            }
        }
        logs.push(AuditLog::open(dir.path()).unwrap());
        for log in &mut logs {
            prop_assert_eq!(known(log), of_all(dir.path()));
        }
    }
}

#[test]
fn a_record_without_its_end_is_given_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = AuditLog::open(dir.path()).unwrap();
    act(&mut log, Act::Open);
    act(&mut log, Act::Event);
    let path = dir.path().join(FOLDER).join(LOG);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.trim_end()).unwrap();
    act(&mut log, Act::Event);
    act(&mut AuditLog::open(dir.path()).unwrap(), Act::Event);
    let numbers: Vec<u64> = records(dir.path()).iter().map(|record| record.n).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(known(&mut log), of_all(dir.path()));
}

#[test]
fn nobody_reads_what_others_wrote_until_a_report_is_due() {
    let dir = tempfile::tempdir().unwrap();
    let (mut mine, mut other) = (AuditLog::open(dir.path()).unwrap(), AuditLog::open(dir.path()).unwrap());
    let unread = |log: &mut AuditLog| {
        let mut unread = 0;
        log.add(|turn| unread = turn.unread_bytes()).unwrap();
        unread
    };
    act(&mut mine, Act::Open);
    assert_eq!(unread(&mut mine), 0, "what it wrote it need not read");
    act(&mut other, Act::Event);
    act(&mut mine, Act::Event);
    let length = || fs::metadata(dir.path().join(FOLDER).join(LOG)).unwrap().len();
    assert!(unread(&mut mine) > 0 && unread(&mut mine) < length());
    assert_eq!(unread(&mut other), length());
    let before = length();
    act(&mut other, Act::Report);
    assert_eq!(unread(&mut mine), length() - before, "the report and what follows");
    assert_eq!(known(&mut mine), of_all(dir.path()));
    assert_eq!(unread(&mut mine), 0);
}

#[test]
fn what_is_known_takes_no_more_room_than_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = AuditLog::open(dir.path()).unwrap();
    let size = || fs::metadata(mark(dir.path())).unwrap().len();
    (0..100).for_each(|_| act(&mut log, Act::Open));
    assert!(size() > 10_000, "{}", size());
    (0..100).for_each(|_| act(&mut log, Act::Close));
    assert!(size() < 6_000, "{}", size());
    assert_eq!(known(&mut AuditLog::open(dir.path()).unwrap()), of_all(dir.path()));
}
