//! Gates and decisions: where plans have them, what gates say in the world, and what its people
//! decide.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use wf_base::{
    digest::Sha256Digest,
    name::{GateId, Name},
};
use wf_core::{
    gate::{GateAction, GateOutcome, GateResult},
    machine::{
        AnswerOptions, ApprovalOutcome, ApprovalRequest, GatePoint, InputKind, RequestDecision, ShownContent,
        TaskId, ToolCallId, TypedAnswer, gates_at,
    },
};
use wf_model::{
    AnswerChoices, AnswerKind, ApprovalRequirement, ApprovalStep, Escalation, EscalationAction, Gate,
    GateLane, GatePredicate, GateProvider, GateTrigger, JsonObject, Money, Plan, Step, StepWork,
    expr::Template,
};

use super::{dice::Dice, engine::Job, world::World};

/// The ways in which a block may go on.
const ON_BLOCK: [&str; 10] =
    ["respond", "report", "retry", "rephrase", "suppress", "human", "queue", "nowhere", "nobody", "task"];

/// After how many attempts of an agent people give it no further guidance.
const PATIENCE: u32 = 20;

/// A decision that a step is for.
pub fn approve(dice: &mut Dice, steady: bool) -> StepWork {
    let name = Name::parse("what").expect("a name");
    StepWork::Approve(Box::new(ApprovalStep {
        message: Template::literal("may it?"),
        show: vec![(name, Template::literal("this"))],
        needs: needs(dice, steady),
        answer: match dice.below(3) {
            0 => Some(AnswerKind::Choose(AnswerChoices::List(vec!["keep".into(), "archive".into()]))),
            1 => Some(AnswerKind::Edit { text: Template::literal("draft"), max_length: 10 }),
            _ => None,
        },
    }))
}

/// What people say beyond yes.
fn typed(dice: &mut Dice, ask: &ApprovalRequest) -> Option<TypedAnswer> {
    match ask.answer.as_ref()? {
        AnswerOptions::Choose(words) => Some(TypedAnswer::Choice(dice.pick(words).clone())),
        AnswerOptions::Edit { .. } => dice.one_in(2).then(|| TypedAnswer::Text("changed".into())),
        AnswerOptions::Select(_) => None,
    }
}

/// Who must agree, and until when: in a steady world people are waited for.
fn needs(dice: &mut Dice, steady: bool) -> ApprovalRequirement {
    let limited = !steady && dice.one_in(2);
    let seconds = u64::from(1 + dice.up_to(4));
    let to = dice.one_in(2).then(|| "boss".to_owned());
    ApprovalRequirement {
        timeout: limited.then(|| Duration::from_secs(seconds)),
        escalate_to: to.into_iter().collect(),
        ..ApprovalRequirement::default()
    }
}

/// Lets some steps have gates.
pub fn of_steps(steps: &mut [Step], dice: &mut Dice, steady: bool) {
    let triggers =
        [GateTrigger::BeforeStep, GateTrigger::OnToolCall, GateTrigger::AfterStep, GateTrigger::OnOutput];
    for step in steps {
        while dice.one_in(2) && step.gates.len() < 3 {
            let on = *dice.pick(&triggers);
            step.gates.push(gate(dice, on, step.gates.len(), steady));
        }
    }
}

/// The gates of a plan.
pub fn of_plan(dice: &mut Dice, steady: bool) -> Vec<Arc<Gate>> {
    let triggers =
        [GateTrigger::BeforeRun, GateTrigger::OnInput, GateTrigger::BeforePublish, GateTrigger::BeforeStep];
    let count = 1 + dice.below(2);
    let all = (10..10 + count).map(|number| {
        let on = *dice.pick(&triggers);
        gate(dice, on, number, steady)
    });
    all.collect()
}

/// A gate of any sort.
pub fn gate(dice: &mut Dice, on: GateTrigger, number: usize, steady: bool) -> Arc<Gate> {
    let lane = if dice.one_in(4) { GateLane::Quality } else { GateLane::Policy };
    let on_block = dice.one_in(2).then(|| (*dice.pick(&ON_BLOCK)).to_owned());
    Arc::new(Gate {
        id: GateId::parse(&format!("gate-{number}")).expect("a name"),
        title: None,
        path: None,
        on,
        lane,
        provider: GateProvider::Predicate(GatePredicate::ApprovalAlways),
        extract: None,
        on_block,
        escalations: Vec::new(),
        approval: needs(dice, steady),
    })
}

/// What blocks lead to.
pub fn escalations() -> Vec<Escalation> {
    let all = [
        ("respond", EscalationAction::Respond, None),
        ("report", EscalationAction::Report, None),
        ("retry", EscalationAction::Retry, Some("human")),
        ("rephrase", EscalationAction::SuppressAndRephrase, Some("retry")),
        ("suppress", EscalationAction::SuppressAndEscalate, Some("human")),
        ("human", EscalationAction::EscalateHuman, Some("rephrase")),
        ("queue", EscalationAction::TransferToQueue, None),
        ("task", EscalationAction::SpawnTask, Some("human")),
        ("nowhere", EscalationAction::TransferToQueue, Some("nowhere")),
    ];
    let made = all.map(|(name, action, fallback)| Escalation {
        name: name.into(),
        action,
        message: None,
        max_retries: 2,
        fallback: fallback.map(str::to_owned),
        queue: (name == "queue").then(|| "desk".to_owned()),
        rephrase: None,
        plan: (name == "task").then(|| "mend.md".to_owned()),
    });
    made.into()
}

/// The arguments of a tool call: no two calls have the same.
pub fn arguments_of(id: &ToolCallId) -> ShownContent {
    let text = format!("{} {}.{}", id.attempt, id.call, id.position);
    ShownContent { digest: Sha256Digest::of_bytes(text.as_bytes()), shown: json!(text) }
}

impl World {
    /// Lets people be asked. They take their time, and some never answer.
    pub fn ask(&mut self, at: usize, ask: Box<ApprovalRequest>) {
        let mut dice = self.fates.people(at, &ask, self.now);
        let slow = dice.one_in(3);
        let after = i64::from(dice.up_to(if slow { 60_000 } else { 3000 }));
        let due = self.now + after;
        self.engine(at).spawn(Job::Ask { ask }, due);
    }

    /// What people decided. What they are asked changes once at most, and they lose patience with an agent: one that can
    /// never finish would ask them for ever.
    pub fn answered(&mut self, at: usize, ask: &ApprovalRequest) -> InputKind {
        let mut dice = self.fates.people(at, ask, 0);
        let whole = (at, (ask.task_id.clone(), ask.point, ask.phase));
        let decision = match dice.below(8) {
            _ if ask.stuck.as_ref().is_some_and(|stuck| stuck.attempt > PATIENCE) => RequestDecision::Denied,
            0 | 1 => RequestDecision::Denied,
            2 if self.changed.insert(whole) => RequestDecision::Void,
            _ if ask.is_question() => RequestDecision::Answered,
            _ => RequestDecision::Approved,
        };
        let answer = typed(&mut dice, ask).filter(|_| decision == RequestDecision::Approved);
        let (by, tokens, reason) = (Vec::new(), Vec::new(), String::new());
        let given = ApprovalOutcome { decision, by, tokens, reason, answer };
        InputKind::Answered { number: ask.request, given }
    }

    /// What the gates at a point say.
    pub fn gated(
        &mut self,
        at: usize,
        task_id: Option<TaskId>,
        (point, attempt): (GatePoint, u32),
        tool_call: Option<ToolCallId>,
    ) -> InputKind {
        let plan = &self.runs[at].plan;
        let whose = task_id.as_ref().map_or("the run".into(), ToString::to_string);
        let of_call = tool_call.as_ref().map(|id| format!(", tool {}.{}", id.call, id.position));
        let of_call = of_call.unwrap_or_default();
        let what = format!("gates of {whose}, {point:?}, attempt {attempt}{of_call}");
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &what);
        let results = results(plan, task_id.as_ref(), point, &mut dice);
        let mut rewritten = JsonObject::new();
        if tool_call.is_some() && dice.one_in(10) {
            rewritten.insert("tool_args".into(), json!({}));
        }
        let arguments = tool_call.as_ref().map(arguments_of).map(Box::new);
        let gated = GateOutcome { results, rewritten, ..GateOutcome::default() };
        InputKind::Gated { task_id, point, gated, tool_call, arguments, exchange: None }
    }
}

/// What each gate at a point says.
pub fn results(plan: &Plan, task_id: Option<&TaskId>, point: GatePoint, dice: &mut Dice) -> Vec<GateResult> {
    let step = task_id.and_then(|place| plan.find(place.step.as_str()));
    let mut result = |gate: &Gate| {
        let action = match dice.below(10) {
            0 if gate.lane == GateLane::Policy => GateAction::Block,
            1 if gate.lane == GateLane::Policy => GateAction::RequireApproval,
            _ => GateAction::Continue,
        };
        // Drawn apart: what a model that judges has used.
        let mut spent = Dice::of(dice.0, "spent");
        let used = if spent.one_in(4) { spent.up_to(20) } else { 0 };
        GateResult {
            gate: gate.id.clone(),
            trigger: gate.on,
            lane: gate.lane,
            action,
            reason: String::new(),
            score: None,
            flags: Vec::new(),
            changed: Vec::new(),
            rejected: Vec::new(),
            ignored: None,
            failed: false,
            duration_ms: 0,
            tokens: u64::from(used),
            cost: Money::of_micros(u64::from(used)),
            asked: None,
        }
    };
    gates_at(plan, step, point).map(|gate| result(gate)).collect()
}
