//! A sample run for tests: one step verified, one failed, one skipped.

use serde_json::json;

use crate::record::RunRecord;
use wf_base::{
    digest::Sha256Digest,
    name::{Name, PlanId, RunId},
    time::Moment,
};
use wf_core::machine::{
    Artifact, CheckRuling, CheckVerdict, LeftProcesses, RunOutcome, Standing, StepCounts, StepState, WorkExit,
};
use wf_model::{
    FailureClass, JsonObject, Plan, PlanParts, PlanPolicy, RetryPolicy, ShellScript, Step, StepIx, StepWork,
};
use wf_store::{ArtifactRow, AttemptRow, CheckRow, RunRow, RunState, StepRow, StoreDurability, WorkEnd};

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn at(duration_ms: i64) -> Moment {
    Moment::from_millis(1_700_000_000_000 + duration_ms)
}

/// A run that failed.
pub(crate) fn run() -> RunRow {
    RunRow {
        id: RunId::from_stored("1a2b3c4d5e6f708192a3b4c5d6e7f809"),
        plan: "nightly-report".into(),
        path: "workflows/nightly.md".into(),
        state: RunState::Ended(RunOutcome::Failed),
        standing: Standing::Refuted,
        params: json!({"day": "mon", "n": 3}).as_object().cloned().unwrap(),
        parent: None,
        dispatched: None,
        retry_of: None,
        session: None,
        created: at(0),
        ended: Some(at(3_210)),
        reason: "step `build` failed".into(),
        failed_step: Some(name("build")),
        counts: StepCounts { verified: 1, failed: 1, skipped: 1, ..StepCounts::default() },
        outputs: JsonObject::new(),
        pending_approvals: 0,
        waits_for_people: false,
        accepted: None,
        undo: None,
        undo_of: None,
        goal: None,
        durability: Some(StoreDurability::Full),
        idle_ms: 0,
        work_end: WorkEnd::At(at(3_210)),
    }
}

/// A step that started at an instant and took a while.
pub(crate) fn step(id: &str, state: StepState, standing: Standing) -> StepRow {
    StepRow {
        step: name(id),
        item: None,
        item_key: None,
        state,
        standing,
        attempts: 1,
        started: Some(at(0)),
        ended: Some(at(1_250)),
        reason: String::new(),
        failure_class: None,
        allowed_to_fail: false,
        cache_key: None,
        stale: None,
        reused_from: None,
        outputs: JsonObject::new(),
    }
}

pub(crate) fn attempt(id: &str, attempt: u32, exit: WorkExit) -> AttemptRow {
    AttemptRow {
        step: name(id),
        item: None,
        attempt,
        started: at(0),
        ended: Some(at(1_000)),
        failure_class: exit.failure_class(),
        exit: Some(exit),
        left: LeftProcesses::default(),
    }
}

pub(crate) fn check(id: &str, attempt: u32, ruling: CheckRuling) -> CheckRow {
    let failed = ruling != CheckRuling::Pass;
    let text = |text: &str| {
        if failed { text.to_owned() } else { String::new() }
    };
    CheckRow {
        step: Some(name(id)),
        item: None,
        attempt: Some(attempt),
        at: at(1_100),
        verdict: CheckVerdict {
            name: name("is_json"),
            phase: wf_model::CheckPhase::default(),
            ruling,
            expected: text("exit code 0"),
            found: text("exit code 1"),
            evidence: text("line 3: no comma"),
            failure_class: failed.then_some(FailureClass::Logical),
            duration_ms: 100,
            certainty: wf_model::CheckCertainty::default(),
            isolation: None,
            hidden: Vec::new(),
            changes: None,
            changed_inputs: Vec::new(),
            foreign_changes: None,
            is_unbounded: false,
            tests: None,
            before: None,
            judgement: None,
        },
    }
}

/// The run with all its rows.
pub(crate) fn record() -> RunRecord {
    let mut build = step("build", StepState::Failed, Standing::Refuted);
    build.attempts = 2;
    build.reason = "check `is_json` failed".into();
    build.failure_class = Some(FailureClass::Logical);
    let mut publish = step("publish", StepState::Skipped, Standing::Unchecked);
    publish.reason = "`build` failed".into();
    (publish.started, publish.attempts) = (None, 0);
    let fetch = step("fetch", StepState::Succeeded, Standing::Verified);
    let checks = vec![check("fetch", 1, CheckRuling::Pass), check("build", 2, CheckRuling::Fail)];
    RunRecord {
        v: crate::record::RECORD_VERSION,
        run: run(),
        life: crate::record::RunLifecycle::of(&run(), None),
        top: None,
        repeated_by: Vec::new(),
        undone_by: Vec::new(),
        worktree: None,
        owner: None,
        steps: vec![fetch, build, publish],
        attempts: vec![
            attempt("fetch", 1, WorkExit::Code { code: 0 }),
            attempt("build", 1, WorkExit::Code { code: 2 }),
            attempt("build", 2, WorkExit::Code { code: 0 }),
        ],
        gaps: crate::record::GapTrajectory::of_checks(&checks),
        loops: Vec::new(),
        shaken: Vec::new(),
        decisions: crate::record::RunDecisions::default(),
        ledger: None,
        checks,
        pruned_artifacts: std::collections::BTreeSet::new(),
        artifacts: vec![ArtifactRow {
            step: name("fetch"),
            item: None,
            attempt: 1,
            artifact: Artifact {
                path: "data.json".into(),
                digest: Sha256Digest::of_bytes(b""),
                size: 3_500,
                released_by: None,
            },
        }],
        agents: Vec::new(),
        sequential_calls: 0,
        call_chain: crate::record::CallChain::default(),
        asked: Vec::new(),
        unbegun: Vec::new(),
        models: Vec::new(),
        nested: Vec::new(),
    }
}

/// The plan of the run.
pub(crate) fn plan() -> std::sync::Arc<Plan> {
    let build = Step {
        retry: std::sync::Arc::new(RetryPolicy { max: 1, ..RetryPolicy::default() }),
        ..plan_step("build", &[0])
    };
    Plan::new(PlanParts::new(
        PlanId::parse("nightly-report").unwrap(),
        vec![plan_step("fetch", &[]), build, plan_step("publish", &[1])],
        3,
        PlanPolicy {
            max_parallel: 1,
            on_failure: wf_model::OnStepFailure::Stop,
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
            StepWork::Run(ShellScript { shell: vec!["sh".into(), "-c".into()], text: "true".into() }),
        )
    }
}
