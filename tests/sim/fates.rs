//! What the world holds for each attempt: a function of the seed and the attempt, so that two
//! worlds of one seed answer the same, whatever happens between.

use serde_json::json;
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{
    AdviceKind, ApprovalRequest, Attempt, Baseline, CachedResult, CheckRuling, CheckVerdict, IntentAdvice,
    Standing, TaskId, ToolAdvice, WorkExit,
};
use wf_model::{Check, CheckPhase, FailureClass, JsonObject, Plan, Step, StepWork};

use super::dice::Dice;

/// How an attempt goes.
#[derive(Clone, Debug)]
pub struct Fate {
    pub exit: WorkExit,
    pub outputs: JsonObject,
    pub standing: Option<Standing>,
    pub duration_ms: i64,
}

/// The fates of all attempts of a world.
#[derive(Clone, Copy)]
pub struct Fates(pub u64);

impl Fates {
    pub fn dice(self, run: usize, what: &str) -> Dice {
        Dice::of(self.0.wrapping_add(run as u64), what)
    }

    /// How the work of an attempt goes.
    pub fn work(self, run: usize, attempt: &Attempt, step: &Step) -> Fate {
        let mut dice = self.dice(run, &attempt.to_string());
        let reason = "it would not".to_owned();
        let exit = match (dice.below(20), &step.work) {
            (0..12, StepWork::Exec(_)) => WorkExit::Code { code: 0 },
            (0..12, _) => WorkExit::Completed,
            (12, _) => WorkExit::Signal { signal: 9 },
            (13, _) => WorkExit::Code { code: 127 },
            (14, _) if step.timeout.is_some() => WorkExit::TimedOut,
            (15, _) => WorkExit::Error { reason, failure_class: FailureClass::Environmental },
            (16, _) => WorkExit::Error { reason, failure_class: FailureClass::Logical },
            (18, StepWork::Exec(_)) => WorkExit::Denied { reason },
            (17, StepWork::Uses(_) | StepWork::Generated(_)) => WorkExit::Cancelled,
            _ => WorkExit::Code { code: 1 },
        };
        let standing = [Standing::Verified, Standing::Reported];
        let standing = matches!(step.work, StepWork::Uses(_)).then(|| *dice.pick(&standing));
        let outputs = outputs(&mut dice, step);
        Fate { exit, outputs, standing, duration_ms: i64::from(dice.up_to(3000)) }
    }

    /// What checks of a phase find, of an attempt or of the plan in a round.
    pub fn verdicts(
        self,
        run: usize,
        (attempt, round): (Option<&Attempt>, usize),
        phase: CheckPhase,
        checks: &[&Check],
    ) -> Vec<CheckVerdict> {
        let whose = match (attempt, round) {
            (Some(attempt), _) => attempt.to_string(),
            (None, 0) => "the plan".into(),
            (None, round) => format!("the plan, round {round}"),
        };
        let which = if phase.is_default() { String::new() } else { format!(" to {}", phase.as_str()) };
        let mut dice = self.dice(run, &format!("checks of {whose}{which}"));
        let rulings =
            [CheckRuling::Pass, CheckRuling::Pass, CheckRuling::Pass, CheckRuling::Fail, CheckRuling::Error];
        let rule = |check: &&Check| {
            let ruled = verdict(check, *dice.pick(&rulings));
            match &check.judge {
                Some(judge) if ruled.passed() => super::judges::judged(&mut dice, judge, ruled),
                _ => ruled,
            }
        };
        checks.iter().map(rule).collect()
    }

    /// How people decide about something that they are asked.
    pub fn people(self, run: usize, ask: &ApprovalRequest, now: i64) -> Dice {
        let place = ask.task_id.as_ref().map_or("the run".into(), ToString::to_string);
        let of_call = ask.tool_call.as_ref().map(|call| format!(", tool {}.{}", call.call, call.position));
        let of_part = ask
            .exchange
            .as_ref()
            .map(|part| format!(", part {}.{:?}", part.passed.call, part.passed.position));
        let of_call = of_call.or(of_part).unwrap_or_default();
        self.dice(run, &format!("people asked for {place}, {:?}{of_call}, at {now}", ask.point))
    }

    /// The workspace as it is when a run begins.
    pub fn baseline(self, run: usize) -> Option<Baseline> {
        let mut dice = self.dice(run, "baseline");
        let entries = dice.below(3) as u64;
        (entries > 0).then(|| Baseline {
            manifest: Sha256Digest::of_bytes(b"files"),
            entries,
            kept: Vec::new(),
        })
    }

    /// What memory says about the ways of steps.
    pub fn advice(self, run: usize, plan: &Plan) -> Vec<ToolAdvice> {
        let mut dice = self.dice(run, "memory");
        let mut said = Vec::new();
        for step in plan.steps() {
            for way in 0..step.alternative_count() {
                if dice.one_in(3) {
                    let all = [AdviceKind::Avoid, AdviceKind::Exploit, AdviceKind::Caution];
                    said.push(ToolAdvice {
                        tool: step.tool(way),
                        target: step.target(way).map(str::to_owned),
                        advice: *dice.pick(&all),
                        attention: 0.75,
                        decision: 0.5,
                    });
                }
            }
        }
        said
    }

    /// What memory says about the intent of a plan.
    pub fn intent(self, run: usize) -> Option<IntentAdvice> {
        let mut dice = self.dice(run, "intent");
        let all = [AdviceKind::Avoid, AdviceKind::Exploit, AdviceKind::Caution];
        dice.one_in(3).then(|| IntentAdvice {
            slug: "build_the_page".into(),
            advice: *dice.pick(&all),
            attention: 0.75,
            decision: 0.5,
        })
    }

    /// Whether a step declares a file, which is evidence.
    pub fn declares(self, run: usize, step: &Step) -> bool {
        let mut dice = self.dice(run, &format!("files of {}", step.id));
        !step.verify.is_empty() && !dice.one_in(3)
    }

    /// What the cache holds for a place.
    pub fn cached(self, run: usize, task_id: &TaskId, step: &Step) -> Option<CachedResult> {
        let mut dice = self.dice(run, &format!("cache of {task_id}"));
        let outputs = outputs(&mut dice, step);
        let from = RunId::from_bytes([9; 16]);
        let key = Sha256Digest::of_bytes(task_id.to_string().as_bytes());
        dice.one_in(2).then(|| CachedResult {
            cache_key: key,
            reused_from: from,
            outputs,
            artifacts: Vec::new(),
        })
    }
}

/// What a step gives: what it must, or nearly.
pub fn outputs(dice: &mut Dice, step: &Step) -> JsonObject {
    let mut given = JsonObject::new();
    for output in &step.outputs {
        let many = dice.up_to(4);
        let value = match (dice.below(16), output.name.as_str()) {
            (0, _) => continue,
            (1, _) => json!("text"),
            (_, "list") => (0..many).map(|n| json!(n / 2)).collect(),
            _ => json!(many),
        };
        given.insert(output.name.to_string(), value);
    }
    given
}

/// A verdict with a ruling.
pub fn verdict(check: &Check, ruling: CheckRuling) -> CheckVerdict {
    CheckVerdict {
        name: check.name.clone(),
        phase: check.phase,
        ruling,
        expected: String::new(),
        found: String::new(),
        evidence: String::new(),
        failure_class: (ruling != CheckRuling::Pass).then_some(FailureClass::Logical),
        duration_ms: 0,
        certainty: check.mode,
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
