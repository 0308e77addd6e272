//! Runs for the tests of the store.

use std::{path::Path, sync::Arc};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use crate::{EventBatch, FencingToken, NewRun, Store, StoreDurability};
use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId, RunId},
    time::{FixedClock, Moment},
};
use wf_core::machine::{
    Artifact, Attempt, CheckRuling, CheckVerdict, Event, EventKind, RunOffers, RunOutcome, RunPhase,
    Standing, StepCounts, StepItem, StepState, TaskId, TaskLocks, WorkExit,
};
use wf_model::{CheckCertainty, FailureClass, JsonObject};

pub(crate) const NOW: Moment = Moment::from_millis(1_800_000_000_000);

/// An instant later than anything that tests write, by the machine's clock too.
pub(crate) const LATER: Moment = Moment::from_millis(NOW.millis() + 20 * 365 * 86_400_000);

pub(crate) fn open(dir: &Path) -> Store {
    Store::open(dir, StoreDurability::Normal, Arc::new(FixedClock(NOW))).unwrap()
}

/// Opens a connection without any protection, as a foreign program would.
pub(crate) fn stranger(dir: &Path) -> Connection {
    Connection::open_with_flags(dir.join("state.db"), OpenFlags::default()).unwrap()
}

/// Returns the number of transactions in the write-ahead log: after a header of 32 bytes frames of a
/// page and 24 bytes before it; the last one of a transaction holds the size of the database.
pub(crate) fn commits(dir: &Path) -> usize {
    let log = std::fs::read(dir.join("state.db-wal")).unwrap();
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let (page, salt) = (number(8) as usize, &log[16..24]);
    let frames = (32..log.len()).step_by(24 + page);
    frames.take_while(|at| log[at + 8..at + 16] == *salt).filter(|at| number(at + 4) != 0).count()
}

/// The locks of a task that needs one by its name.
pub(crate) fn lock(name: &str) -> TaskLocks {
    TaskLocks { lock: Some(name.into()), ..TaskLocks::default() }
}

/// Stores bytes as a file under their digest.
pub(crate) fn put(store: &Store, bytes: &[u8]) -> Sha256Digest {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, bytes).unwrap();
    store.blobs().put_file(file.path()).unwrap().0
}

pub(crate) fn run_id(number: u8) -> RunId {
    RunId::from_bytes([number; 16])
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(crate) fn new_run(plan: &str) -> NewRun {
    NewRun {
        plan: PlanId::parse(plan).unwrap(),
        path: format!("{plan}.md"),
        params: object(json!({"day": "2026-11-21"})),
        parent: None,
        retry_of: None,
        session: None,
        sources: vec![(format!("{plan}.md"), "# A plan".into())],
        created: NOW,
        config: json!({"max_parallel": 2}),
        claim: None,
    }
}

pub(crate) fn first(run: &RunId, new: NewRun, facts: Vec<EventKind>) -> EventBatch {
    EventBatch { new: Some(new), ..next(run, facts) }
}

pub(crate) fn next(run: &RunId, facts: Vec<EventKind>) -> EventBatch {
    let event =
        |(at, fact)| Event { at: Moment::from_millis(NOW.millis() + i64::try_from(at).unwrap()), fact };
    EventBatch {
        run: run.clone(),
        token: FencingToken { run: run.clone(), number: 0 },
        after: None,
        new: None,
        events: facts.into_iter().enumerate().map(event).collect(),
    }
}

pub(crate) fn attempt(step: &str, item: Option<u32>, number: u32) -> Attempt {
    Attempt { task_id: TaskId { step: name(step), item }, attempt: number }
}

pub(crate) fn started(step: &str) -> EventKind {
    EventKind::AttemptStarted(attempt(step, None, 1))
}

pub(crate) fn answered(attempt: Attempt, code: i32) -> EventKind {
    EventKind::AttemptEnded {
        attempt,
        how: WorkExit::Code { code },
        failure_class: (code != 0).then_some(FailureClass::Logical),
        findings: wf_core::machine::NestedFindings::default(),
        outputs: object(json!({"rows": code})),
        artifacts: vec![],
        standing: None,
        swapped_file: None,
        usage: wf_core::machine::AttemptUsage::default(),
        left: wf_core::machine::LeftProcesses::default(),
        log: None,
        breakers: Vec::new(),
    }
}

pub(crate) fn ended(task_id: TaskId, state: StepState) -> EventKind {
    EventKind::StepEnded {
        task_id,
        state,
        standing: Standing::Reported,
        reason: String::new(),
        failure_class: None,
        allowed_to_fail: false,
        cache_key: None,
        outputs: JsonObject::new(),
        reused_from: None,
    }
}

pub(crate) fn run_ended() -> EventKind {
    EventKind::RunEnded {
        outcome: RunOutcome::Succeeded,
        reason: String::new(),
        failed_step: None,
        standing: Standing::Verified,
        counts: StepCounts { verified: 2, ..StepCounts::default() },
        failures: wf_core::machine::FailureTally::default(),
        stale: Vec::new(),
        outputs: object(json!({"total": 3})),
        accepted: None,
        offers: RunOffers::default(),
    }
}

/// Returns at least one fact of every kind, as a run of four steps leaves them.
pub(crate) fn story() -> Vec<EventKind> {
    let [fetch, again] = [attempt("fetch", None, 1), attempt("fetch", None, 2)];
    let item = attempt("load", Some(1), 1);
    vec![
        EventKind::RunStarted {
            logic_version: 1,
            plan: PlanId::parse("report").unwrap(),
            params: JsonObject::new(),
            dispatch: None,
        },
        EventKind::StepReused {
            step: name("prepare"),
            outputs: object(json!({"dir": "out"})),
            standing: Standing::Verified,
            reused_from: run_id(200),
            evidence: Vec::new(),
        },
        EventKind::LockRequested { task_id: fetch.task_id.clone(), lock: "network".into() },
        EventKind::AttemptStarted(fetch.clone()),
        answered(fetch, 1),
        retried(again.clone()),
        EventKind::AttemptStarted(again.clone()),
        with_artifact(answered(again.clone(), 0)),
        EventKind::CheckCompleted { attempt: Some(again.clone()), verdict: verdict("not_empty") },
        ended(again.task_id, StepState::Succeeded),
        EventKind::StepExpanded {
            step: name("load"),
            items: ["a", "b"].map(|key| StepItem { key: key.into(), value: json!(key) }).to_vec(),
        },
        EventKind::AttemptStarted(item.clone()),
        answered(item.clone(), 7),
        ended(item.task_id, StepState::Failed),
        ended(TaskId::of_step(&name("send")), StepState::Skipped),
        EventKind::RunDraining { step: name("load") },
        EventKind::CancelRequested { reason: "asked to".into(), force: false },
        EventKind::RunTimedOut,
        EventKind::PhaseStarted { phase: RunPhase::Verify },
        EventKind::CheckCompleted { attempt: None, verdict: verdict("total") },
        run_ended(),
    ]
}

fn retried(attempt: Attempt) -> EventKind {
    EventKind::RetryScheduled { attempt, due: NOW, reason: "exit code 1".into(), looped: None }
}

fn with_artifact(kind: EventKind) -> EventKind {
    let EventKind::AttemptEnded { attempt, how, failure_class, outputs, .. } = kind else {
        return kind;
    };
    EventKind::AttemptEnded {
        attempt,
        how,
        failure_class,
        findings: wf_core::machine::NestedFindings::default(),
        outputs,
        artifacts: vec![Artifact {
            path: "out/report.csv".into(),
            digest: Sha256Digest::of_bytes(b"a,b"),
            size: 3,
            released_by: None,
        }],
        standing: None,
        swapped_file: None,
        usage: wf_core::machine::AttemptUsage::default(),
        left: wf_core::machine::LeftProcesses::default(),
        log: None,
        breakers: Vec::new(),
    }
}

pub(crate) fn verdict(criterion: &str) -> CheckVerdict {
    CheckVerdict {
        phase: wf_model::CheckPhase::default(),
        name: name(criterion),
        ruling: CheckRuling::Pass,
        expected: String::new(),
        found: String::new(),
        evidence: "3 rows".into(),
        failure_class: None,
        duration_ms: 4,
        certainty: CheckCertainty::default(),
        isolation: None,
        hidden: Vec::new(),
        changes: None,
        changed_inputs: Vec::new(),
        foreign_changes: None,
        is_unbounded: false,
        tests: None,
        before: None,
        judgement: None,
    }
}

pub(crate) fn object(value: serde_json::Value) -> JsonObject {
    match value {
        serde_json::Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}
