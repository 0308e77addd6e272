//! A run to test with: one step verified, one refuted, one skipped.

use serde_json::json;

use super::Record;
use crate::digest::Digest;
use crate::machine::{Artifact, Exit};
use crate::machine::{Outcome, Ruling, Standing, StepState, Tally, Verdict};
use crate::model::{Class, Object, Parts, Plan, Policy, Retry, Script, Step, StepIx, Work};
use crate::name::{Name, PlanId, RunId};
use crate::store::{ArtifactRow, AttemptRow, CheckRow, Durability, RunRow, RunState, StepRow};
use crate::time::Moment;

/// A name.
pub(super) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn at(millis: i64) -> Moment {
    Moment::from_millis(1_700_000_000_000 + millis)
}

/// A run that failed.
pub(super) fn run() -> RunRow {
    RunRow {
        id: RunId::from_stored("1a2b3c4d5e6f708192a3b4c5d6e7f809"),
        plan: "nightly-report".into(),
        path: "workflows/nightly.md".into(),
        state: RunState::Ended(Outcome::Failed),
        standing: Standing::Refuted,
        params: json!({"day": "mon", "n": 3}).as_object().cloned().unwrap(),
        parent: None,
        retry_of: None,
        created: at(0),
        ended: Some(at(3_210)),
        why: "step `build` failed".into(),
        failed: Some(name("build")),
        tally: Tally {
            verified: 1,
            failed: 1,
            skipped: 1,
            ..Tally::default()
        },
        outputs: Object::new(),
        asks: 0,
        accepted: None,
        goal: None,
        durability: Some(Durability::Full),
        idle_ms: 0,
    }
}

/// A step that began at an instant and took a while.
pub(super) fn step(id: &str, state: StepState, standing: Standing) -> StepRow {
    StepRow {
        step: name(id),
        item: None,
        item_key: None,
        state,
        standing,
        attempts: 1,
        started: Some(at(0)),
        ended: Some(at(1_250)),
        why: String::new(),
        class: None,
        tolerated: false,
        cached: None,
        stale: None,
        kept_from: None,
        outputs: Object::new(),
    }
}

/// An attempt and how it ended.
pub(super) fn attempt(id: &str, attempt: u32, exit: Exit) -> AttemptRow {
    AttemptRow {
        step: name(id),
        item: None,
        attempt,
        started: at(0),
        ended: Some(at(1_000)),
        class: exit.class(),
        exit: Some(exit),
    }
}

pub(super) fn check(id: &str, attempt: u32, ruling: Ruling) -> CheckRow {
    let failed = ruling != Ruling::Pass;
    let text = |text: &str| {
        if failed {
            text.to_owned()
        } else {
            String::new()
        }
    };
    CheckRow {
        step: Some(name(id)),
        item: None,
        attempt: Some(attempt),
        at: at(1_100),
        verdict: Verdict {
            name: name("is_json"),
            phase: crate::model::CheckPhase::default(),
            ruling,
            expected: text("exit code 0"),
            found: text("exit code 1"),
            evidence: text("line 3: no comma"),
            class: failed.then_some(Class::Logical),
            millis: 100,
            mode: crate::model::Mode::default(),
            guards: None,
            hidden: Vec::new(),
        },
    }
}

/// The run with all its rows.
pub(super) fn record() -> Record {
    let mut build = step("build", StepState::Failed, Standing::Refuted);
    build.attempts = 2;
    build.why = "check `is_json` failed".into();
    build.class = Some(Class::Logical);
    let mut publish = step("publish", StepState::Skipped, Standing::Unchecked);
    publish.why = "`build` failed".into();
    (publish.started, publish.attempts) = (None, 0);
    let fetch = step("fetch", StepState::Succeeded, Standing::Verified);
    let checks = vec![
        check("fetch", 1, Ruling::Pass),
        check("build", 2, Ruling::Fail),
    ];
    Record {
        v: super::RECORD_VERSION,
        run: run(),
        life: super::Life::of(&run(), None),
        top: None,
        repeated_by: Vec::new(),
        owner: None,
        steps: vec![fetch, build, publish],
        attempts: vec![
            attempt("fetch", 1, Exit::Code { code: 0 }),
            attempt("build", 1, Exit::Code { code: 2 }),
            attempt("build", 2, Exit::Code { code: 0 }),
        ],
        gaps: super::Trajectory::all(&checks),
        loops: Vec::new(),
        shaken: Vec::new(),
        held: super::Held::default(),
        ledger: None,
        checks,
        artifacts: vec![ArtifactRow {
            step: name("fetch"),
            item: None,
            attempt: 1,
            artifact: Artifact {
                path: "data.json".into(),
                digest: Digest::of(b""),
                size: 3_500,
            },
        }],
        nested: Vec::new(),
    }
}

/// The plan of the run.
pub(super) fn plan() -> std::sync::Arc<Plan> {
    let build = Step {
        retry: std::sync::Arc::new(Retry {
            max: 1,
            ..Retry::default()
        }),
        ..plan_step("build", &[0])
    };
    Plan::new(Parts::new(
        PlanId::parse("nightly-report").unwrap(),
        vec![plan_step("fetch", &[]), build, plan_step("publish", &[1])],
        3,
        Policy {
            max_parallel: 1,
            on_failure: crate::model::OnFailure::Stop,
            grace: std::time::Duration::ZERO,
        },
    ))
    .unwrap()
}

fn plan_step(id: &str, needs: &[u32]) -> Step {
    Step {
        depends_on: needs.iter().map(|ix| StepIx(*ix)).collect(),
        ..Step::new(
            name(id),
            Work::Run(Script {
                shell: vec!["sh".into(), "-c".into()],
                text: "true".into(),
            }),
        )
    }
}
