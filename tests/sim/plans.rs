//! Plans from a seed.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};
use wf_base::{
    name::{Name, PlanId},
    source::Span,
    time::Moment,
};
use wf_model::{
    Alternative, Check, CheckPhase, FailureClass, NestedPlan, OnReworkExhausted, OnStepError, OnStepFailure,
    Plan, PlanOutput, PlanParts, PlanPolicy, ReplanSettings, RequiredOutput, RetryPolicy, ReworkLimit, Step,
    StepCache, StepIx, StepRepetition, StepWork, ValueSchema, WaitCondition,
    expr::{Expr, Template},
};

use super::{agents, budget, dice::Dice, gates, guidance, judges, planner, rooms};

/// The named locks that the runs of a world share.
const LOCKS: [&str; 2] = ["left", "right"];

/// A plan, and whether how it ends depends on nothing but the fates of its attempts.
pub struct Drawn {
    pub plan: Arc<Plan>,
    pub steady: bool,
}

/// A random plan of at most `most` main steps.
pub fn draw(dice: &mut Dice, most: usize, from: i64) -> Drawn {
    let steady = dice.one_in(2);
    let main = 1 + dice.below(most);
    let last = dice.below(most.min(3));
    let needs = needs(dice, main);
    let mut steps: Vec<Step> = Vec::new();
    for at in 0..main + last {
        let id = if at < main { format!("s{at}") } else { format!("f{}", at - main) };
        let mut step = Step::new(name(&id), StepWork::Exec(vec![Template::literal("true")]));
        step.depends_on = needs.get(at).cloned().unwrap_or_default();
        decorate(&mut step, dice);
        work(&mut step, dice, from, steady);
        condition(&mut step, &steps, dice, steady);
        // Whether an instant comes before the end of a timeout depends on when the wait begins.
        if steady && matches!(step.work, StepWork::Wait(WaitCondition::Until(_))) {
            step.timeout = None;
        }
        steps.push(step);
    }
    let policy = policy(dice, steady);
    if dice.one_in(3) {
        gates::of_steps(&mut steps, dice, steady);
    }
    agents::of_steps(&mut steps, dice, steady);
    guidance::of_steps(&mut steps, dice);
    let mut apart = phases_of(&mut steps, main, from);
    let replan = dice.one_in(3).then(|| {
        for step in &mut steps[..main] {
            alternatives(step, dice);
        }
        replan(dice, steady)
    });
    let outputs = plan_outputs(&steps, dice);
    if apart.one_in(2) {
        let work = StepWork::Exec(vec![Template::literal("true")]);
        steps.push(Step { on_escalation: true, ..Step::new(name("task"), work) });
    }
    let limited = !steady && dice.one_in(4);
    let mut verify = Vec::new();
    if dice.one_in(3) {
        verify = checks(dice);
        in_phases(&mut verify, &mut apart);
    }
    let bounded = !steady && dice.one_in(3);
    let parts = PlanParts {
        verify,
        outputs,
        timeout: limited.then(|| seconds(dice, 20)),
        budget: bounded.then(|| budget::of_plan(dice, main + last)),
        gates: if dice.one_in(6) { gates::of_plan(dice, steady) } else { Vec::new() },
        escalations: gates::escalations(),
        replan,
        ..PlanParts::new(PlanId::parse("p").expect("a name"), steps, main, policy)
    };
    let parts = rooms::of_plan(&mut apart, planner::of_plan(dice, parts));
    let parts = judges::of_plan(dice, parts);
    let plan = Plan::new(parts).expect("it is drawn to be a plan");
    if dice.one_in(8) {
        return super::plain::draw(dice, most);
    }
    Drawn { plan, steady }
}

/// Whether a step decides for itself, when others fail.
pub fn asks_status(step: &Step) -> bool {
    step.when.as_deref().is_some_and(Expr::asks_status)
}

fn policy(dice: &mut Dice, steady: bool) -> PlanPolicy {
    let on_failure = if steady { OnStepFailure::Continue } else { rooms::on_failure(dice) };
    PlanPolicy { max_parallel: 1 + dice.up_to(3), on_failure, grace: Duration::ZERO }
}

/// What each main step depends on: a chain, a fan, layers, or whatever comes.
fn needs(dice: &mut Dice, main: usize) -> Vec<Vec<StepIx>> {
    let shape = dice.below(4);
    let width = 1 + dice.below(3);
    let ix = |at: usize| StepIx(u32::try_from(at).expect("plans are small"));
    let mut all = Vec::new();
    for at in 0..main {
        let mut needs: Vec<usize> = match shape {
            _ if at == 0 => Vec::new(),
            0 => vec![at - 1],
            1 if at + 1 == main => (1..at).collect(),
            1 => vec![0],
            2 if at < width => Vec::new(),
            2 => (0..=dice.below(2)).map(|_| (at / width - 1) * width + dice.below(width)).collect(),
            _ => (0..dice.below(3)).map(|_| dice.below(at)).collect(),
        };
        needs.sort_unstable();
        needs.dedup();
        all.push(needs.into_iter().map(ix).collect());
    }
    all
}

/// Other ways to do a step: other tools of few classes, on few targets.
fn alternatives(step: &mut Step, dice: &mut Dice) {
    if matches!(step.work, StepWork::Wait(_) | StepWork::Approve(_)) {
        return;
    }
    let word = |dice: &mut Dice, words: &[&str]| {
        let word = *dice.pick(words);
        dice.one_in(2).then(|| word.to_owned())
    };
    let (tools, targets) = (["a:x", "a:y", "b:x"], ["here", "there"]);
    (step.tool, step.target) = (word(dice, &tools), word(dice, &targets));
    for number in 0..dice.below(4) {
        let mut other = step.clone();
        other.alternatives.clear();
        (other.tool, other.target) = (word(dice, &tools), word(dice, &targets));
        step.alternatives.push(Alternative {
            id: name(&format!("other{number}")),
            replaces: dice.one_in(2),
            step: Arc::new(other),
        });
    }
}

/// Where how a run ends depends on its fates alone, time does not matter.
fn replan(dice: &mut Dice, steady: bool) -> ReplanSettings {
    let time_budget = if steady { Duration::from_secs(1_000_000_000) } else { seconds(dice, 60) };
    ReplanSettings {
        max_replans: dice.up_to(5),
        time_budget,
        strict: dice.one_in(3),
        ..ReplanSettings::default()
    }
}

fn decorate(step: &mut Step, dice: &mut Dice) {
    if dice.one_in(3) {
        step.verify = checks(dice);
    }
    if dice.one_in(2) {
        let classes = [FailureClass::Logical, FailureClass::Environmental, FailureClass::Interrupted];
        let on = classes.into_iter().filter(|_| !dice.one_in(4)).collect();
        let max = 1 + dice.up_to(2);
        let jitter = if dice.one_in(3) { 0.5 } else { 0.0 };
        let backoff = seconds(dice, 4);
        step.retry = RetryPolicy { max, backoff, on, jitter, ..RetryPolicy::default() }.into();
    }
    if dice.one_in(3) {
        let lock = *dice.pick(&LOCKS);
        step.concurrency = Some(lock.into());
    }
    if dice.one_in(6) {
        step.on_error = OnStepError::Continue;
    }
    if dice.one_in(2) {
        step.outputs.push(RequiredOutput { name: name("n"), schema: schema("integer") });
    }
    if dice.one_in(3) {
        step.outputs.push(RequiredOutput { name: name("list"), schema: schema("any") });
    }
    step.queue_timeout = dice.one_in(5).then(|| seconds(dice, 8));
    step.timeout = dice.one_in(5).then(|| seconds(dice, 5));
    step.idempotent = dice.one_in(4);
}

/// What a step does, and over what it is repeated.
fn work(step: &mut Step, dice: &mut Dice, from: i64, steady: bool) {
    let later = Moment::from_millis(from + i64::from(dice.up_to(8000)));
    match dice.below(12) {
        0 => step.work = StepWork::Wait(WaitCondition::For(seconds(dice, 6))),
        1 => step.work = StepWork::Wait(WaitCondition::Until(later)),
        2 => step.work = StepWork::Wait(WaitCondition::File(Template::literal("flag"))),
        3 => step.work = StepWork::Uses(Box::new(nested())),
        7 => step.work = super::generated::work(),
        8 => step.work = super::generated::open(),
        6 => step.work = gates::approve(dice, steady),
        4 | 5 => {
            step.cache = Some(Box::new(StepCache { inputs: Vec::new(), outputs: Vec::new() }));
        }
        _ => {}
    }
    if matches!(step.work, StepWork::Wait(_) | StepWork::Approve(_)) {
        step.outputs.clear();
    }
    if dice.one_in(4) {
        let count = dice.up_to(4);
        step.fan = StepRepetition::List((0..count).map(|n| json!(n % 3)).collect());
    } else if dice.one_in(10) {
        let row = |n: u32| json!({ "os": n / 2, "arch": n % 2 }).as_object().cloned();
        step.fan = StepRepetition::Matrix((0..4).filter_map(row).collect());
    }
    if !matches!(step.fan, StepRepetition::Once) {
        step.max_parallel = dice.one_in(2).then(|| 1 + dice.up_to(1));
    }
}

/// The plan of nested runs.
pub fn nested() -> NestedPlan {
    let steps = vec![Step::new(name("inner"), StepWork::Exec(vec![Template::literal("true")]))];
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    let parts = PlanParts::new(PlanId::parse("inner").expect("a name"), steps, 1, policy);
    let plan = Plan::new(parts).expect("it is a plan");
    NestedPlan { plan, path: "inner.md".into(), with: Vec::new() }
}

/// Lets a step ask: whether to run, over what to be repeated, what to be given.
fn condition(step: &mut Step, before: &[Step], dice: &mut Dice, steady: bool) {
    let needed: Vec<&Step> = step.depends_on.iter().map(|ix| &before[ix.index()]).collect();
    let first = needed.first().map(|step| step.id.as_str().to_owned());
    let gives = |output: &str| {
        let has = |step: &&&Step| step.outputs.iter().any(|o| o.name.as_str() == output);
        needed.iter().find(has).map(|step| step.id.to_string())
    };
    if let (Some(from), true) = (gives("list"), dice.one_in(2)) {
        step.fan = StepRepetition::Each(expr(&format!("steps.{from}.outputs.list")));
    }
    if let (Some(from), StepWork::Exec(words), true) = (gives("n"), &mut step.work, dice.one_in(2)) {
        words.push(template(&format!("{{{{ steps.{from}.outputs.n }}}}")));
    }
    let of_all = ["failed()", "succeeded()", "cancelled()", "always()"];
    let of_one = ["failed", "succeeded", "skipped", "cancelled"];
    step.when = match (dice.below(8), first) {
        (0, _) if !steady => Some(expr(of_all[dice.below(of_all.len())])),
        (0, _) => Some(expr("always()")),
        (1, Some(first)) => Some(expr(&format!("{}('{first}')", dice.pick(&of_one)))),
        (2, _) => Some(expr(["params.go", "params.stay"][dice.below(2)])),
        (3, _) => gives("n").map(|from| expr(&format!("steps.{from}.outputs.n > 1"))),
        _ => None,
    }
    .map(Box::new);
}

fn plan_outputs(steps: &[Step], dice: &mut Dice) -> Vec<PlanOutput> {
    let given = steps.iter().find(|step| step.outputs.iter().any(|o| o.name.as_str() == "n"));
    let value = match given {
        Some(step) if dice.one_in(4) => template(&format!("{{{{ steps.{}.outputs.n }}}}", step.id)),
        _ => Template::of_value(json!(7)),
    };
    let output = PlanOutput { name: name("result"), schema: schema("any"), value };
    if dice.one_in(3) { vec![output] } else { Vec::new() }
}

fn checks(dice: &mut Dice) -> Vec<Check> {
    let check = |id| Check::new(name(id));
    ["good", "sound"].into_iter().take(1 + dice.below(2)).map(check).collect()
}

/// Gives steps phases of checks, and loops. They are drawn apart, so that what comes after is what
/// it was without them.
fn phases_of(steps: &mut [Step], main: usize, from: i64) -> Dice {
    let last = steps.len() - main;
    let mut apart = Dice::of(from.unsigned_abs(), &format!("phases of {main} and {last}"));
    for step in steps {
        in_phases(&mut step.verify, &mut apart);
        step.loops = loops(&mut apart);
        if apart.one_in(4) {
            let path = *apart.pick(&["a.txt", "out", "out/b.txt", "*.txt"]);
            step.writes = vec![Template::literal(path)];
        }
    }
    apart
}

/// Asks some checks to inspect or to test.
fn in_phases(checks: &mut Vec<Check>, dice: &mut Dice) {
    if checks.is_empty() || dice.one_in(2) {
        return;
    }
    let more = ["tidy", "works"].into_iter().take(dice.below(3));
    checks.extend(more.map(|id| Check::new(name(id))));
    for check in &mut *checks {
        let phases = [CheckPhase::Inspect, CheckPhase::Test, CheckPhase::Verify];
        check.phase = *dice.pick(&phases);
    }
    checks.sort_by_key(|check| check.phase);
}

fn loops(dice: &mut Dice) -> ReworkLimit {
    let on_exhausted = [OnReworkExhausted::Fail, OnReworkExhausted::Ask];
    ReworkLimit { max: dice.up_to(2), on_exhausted: *dice.pick(&on_exhausted) }
}

fn seconds(dice: &mut Dice, most: u32) -> Duration {
    Duration::from_millis(u64::from(dice.up_to(most * 10)) * 100)
}

pub fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

thread_local! {
    static EXPRESSIONS: RefCell<BTreeMap<String, Expr>> = const { RefCell::new(BTreeMap::new()) };
    static TEMPLATES: RefCell<BTreeMap<String, Template>> = const { RefCell::new(BTreeMap::new()) };
    static SCHEMAS: RefCell<BTreeMap<String, ValueSchema>> = const { RefCell::new(BTreeMap::new()) };
}

/// Makes each text into a value once: making them is most of what a small plan costs.
fn once<T: Clone>(known: &RefCell<BTreeMap<String, T>>, text: &str, make: impl Fn() -> T) -> T {
    if let Some(made) = known.borrow().get(text) {
        return made.clone();
    }
    let made = make();
    known.borrow_mut().insert(text.to_owned(), made.clone());
    made
}

fn expr(text: &str) -> Expr {
    let make = || Expr::parse(text, Span::new(0, text.len())).expect("an expression");
    EXPRESSIONS.with(|known| once(known, text, make))
}

fn template(text: &str) -> Template {
    let make = || Template::parse(text, Span::new(0, text.len())).expect("a template");
    TEMPLATES.with(|known| once(known, text, make))
}

fn schema(kind: &str) -> ValueSchema {
    let text: Value = if kind == "any" { json!({}) } else { json!({ "type": kind }) };
    SCHEMAS.with(|known| once(known, kind, || ValueSchema::new(text.clone()).expect("a schema")))
}
