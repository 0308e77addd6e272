//! Runs to try the store with.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::{Batch, Durability, NewRun, Store, Token};
use crate::digest::Digest;
use crate::machine::{
    Artifact, Attempt, Event, Exit, Fact, Item, Outcome, Phase, Place, Ruling, Standing, StepState,
    Tally, Verdict,
};
use crate::model::{Class, Mode, Object};
use crate::name::{Name, PlanId, RunId};
use crate::time::{FixedClock, Moment};

pub(super) const NOW: Moment = Moment::from_millis(1_800_000_000_000);

pub(super) fn open(dir: &Path) -> Store {
    Store::open(dir, Durability::Normal, Arc::new(FixedClock(NOW))).unwrap()
}

/// A connection of somebody who does as they like.
pub(super) fn stranger(dir: &Path) -> Connection {
    Connection::open_with_flags(dir.join("state.db"), OpenFlags::default()).unwrap()
}

/// How many transactions its write-ahead log holds: after a header of 32 bytes frames of a page and 24
/// bytes before it, of which the last of a transaction says how large the database is.
pub(super) fn commits(dir: &Path) -> usize {
    let log = std::fs::read(dir.join("state.db-wal")).unwrap();
    let number = |at: usize| u32::from_be_bytes(log[at..at + 4].try_into().unwrap());
    let (page, salt) = (number(8) as usize, &log[16..24]);
    let frames = (32..log.len()).step_by(24 + page);
    frames
        .take_while(|at| log[at + 8..at + 16] == *salt)
        .filter(|at| number(at + 4) != 0)
        .count()
}

pub(super) fn run_id(number: u8) -> RunId {
    RunId::from_bytes([number; 16])
}

pub(super) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

pub(super) fn new_run(plan: &str) -> NewRun {
    NewRun {
        plan: PlanId::parse(plan).unwrap(),
        path: format!("{plan}.md"),
        params: object(json!({"day": "2026-11-21"})),
        parent: None,
        retry_of: None,
        sources: vec![(format!("{plan}.md"), "# A plan".into())],
        created: NOW,
        config: json!({"max_parallel": 2}),
        claim: None,
    }
}

pub(super) fn first(run: &RunId, new: NewRun, facts: Vec<Fact>) -> Batch {
    Batch {
        new: Some(new),
        ..next(run, facts)
    }
}

pub(super) fn next(run: &RunId, facts: Vec<Fact>) -> Batch {
    let event = |(at, fact)| Event {
        at: Moment::from_millis(NOW.millis() + i64::try_from(at).unwrap()),
        fact,
    };
    Batch {
        run: run.clone(),
        token: Token {
            run: run.clone(),
            number: 0,
        },
        after: None,
        new: None,
        events: facts.into_iter().enumerate().map(event).collect(),
    }
}

pub(super) fn attempt(step: &str, item: Option<u32>, number: u32) -> Attempt {
    Attempt {
        place: Place {
            step: name(step),
            item,
        },
        attempt: number,
    }
}

pub(super) fn started(step: &str) -> Fact {
    Fact::AttemptStarted(attempt(step, None, 1))
}

pub(super) fn answered(attempt: Attempt, code: i32) -> Fact {
    Fact::AttemptEnded {
        attempt,
        how: Exit::Code { code },
        class: (code != 0).then_some(Class::Logical),
        outputs: object(json!({"rows": code})),
        artifacts: vec![],
        standing: None,
        usage: crate::machine::Usage::default(),
        service: false,
    }
}

pub(super) fn ended(place: Place, state: StepState) -> Fact {
    Fact::StepEnded {
        place,
        state,
        standing: Standing::Reported,
        why: String::new(),
        class: None,
        tolerated: false,
        cached: None,
        outputs: Object::new(),
        from: None,
    }
}

pub(super) fn run_ended() -> Fact {
    Fact::RunEnded {
        outcome: Outcome::Succeeded,
        why: String::new(),
        failed: None,
        standing: Standing::Verified,
        tally: Tally {
            verified: 2,
            ..Tally::default()
        },
        stale: Vec::new(),
        outputs: object(json!({"total": 3})),
        accepted: None,
    }
}

/// At least one fact of every kind, as a run of four steps leaves them.
pub(super) fn story() -> Vec<Fact> {
    let [fetch, again] = [attempt("fetch", None, 1), attempt("fetch", None, 2)];
    let item = attempt("load", Some(1), 1);
    vec![
        Fact::RunStarted {
            logic: 1,
            plan: PlanId::parse("report").unwrap(),
            params: Object::new(),
        },
        Fact::StepKept {
            step: name("prepare"),
            outputs: object(json!({"dir": "out"})),
            standing: Standing::Verified,
            from: run_id(200),
        },
        Fact::LockAwaited {
            place: fetch.place.clone(),
            lock: "network".into(),
        },
        Fact::AttemptStarted(fetch.clone()),
        answered(fetch, 1),
        retried(again.clone()),
        Fact::AttemptStarted(again.clone()),
        with_artifact(answered(again.clone(), 0)),
        Fact::CriterionJudged {
            attempt: Some(again.clone()),
            verdict: verdict("not_empty"),
        },
        ended(again.place, StepState::Succeeded),
        Fact::StepExpanded {
            step: name("load"),
            items: ["a", "b"]
                .map(|key| Item {
                    key: key.into(),
                    value: json!(key),
                })
                .to_vec(),
        },
        Fact::AttemptStarted(item.clone()),
        answered(item.clone(), 7),
        ended(item.place, StepState::Failed),
        ended(Place::of(&name("send")), StepState::Skipped),
        Fact::RunStopping { step: name("load") },
        Fact::CancelRequested {
            why: "asked to".into(),
            force: false,
        },
        Fact::RunTimedOut,
        Fact::PhaseEntered {
            phase: Phase::Verify,
        },
        Fact::CriterionJudged {
            attempt: None,
            verdict: verdict("total"),
        },
        run_ended(),
    ]
}

fn retried(attempt: Attempt) -> Fact {
    Fact::RetryScheduled {
        attempt,
        due: NOW,
        why: "exit code 1".into(),
        looped: None,
    }
}

fn with_artifact(fact: Fact) -> Fact {
    let Fact::AttemptEnded {
        attempt,
        how,
        class,
        outputs,
        ..
    } = fact
    else {
        return fact;
    };
    Fact::AttemptEnded {
        attempt,
        how,
        class,
        outputs,
        artifacts: vec![Artifact {
            path: "out/report.csv".into(),
            digest: Digest::of(b"a,b"),
            size: 3,
        }],
        standing: None,
        usage: crate::machine::Usage::default(),
        service: false,
    }
}

pub(super) fn verdict(criterion: &str) -> Verdict {
    Verdict {
        phase: crate::model::CheckPhase::default(),
        name: name(criterion),
        ruling: Ruling::Pass,
        expected: String::new(),
        found: String::new(),
        evidence: "3 rows".into(),
        class: None,
        millis: 4,
        mode: Mode::default(),
        guards: None,
        hidden: Vec::new(),
    }
}

pub(super) fn object(value: serde_json::Value) -> Object {
    match value {
        serde_json::Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}
