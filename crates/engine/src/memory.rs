//! Memory in a run: the advice it has for a run that begins, what agents search in it and add to it, and the records
//! following from the rounds of a run and from the decisions of people.
//!
//! **Invariant:** memory advises, and decides nothing: the advice taken by a run is in its events.
//! **Invariant:** a record written twice, as after a crash, is there once.
//!
//! Only the controller writes, from the findings of its rounds, once they are durable; nothing waits for it (artoo
//! v0.8, R7, memory writes). Three things differ from this. A megram is written for each failed alternative, even
//! if no target was to blame, since a wrong tool is worth knowing. An alternative that passed and is not as written is
//! recorded as a success of that tool on that target, since nothing else could be exploited. And a change
//! ordered, and never tried, is evidence of nothing: the results of the abandoned alternatives are recorded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

use wf_base::{digest::Sha256Digest, time::Moment};
use wf_core::{
    agent::authoring::{CalibrationTask, MemoryCalibration},
    calls::approach_name,
    ggs::Directive,
    machine::{
        AdviceKind, ApprovalRequest, Attempt, Event, EventKind, IntentAdvice, Round, RoundFailureClass,
        ToolAdvice, UsedAlternative,
    },
    memory::{
        Megram, MegramOrigin, MegramState, MegramTags, MemoryAction, MemoryFindings, MemoryNote, MemoryQuery,
        NoteQuery, NoteScope, StepDecision, ToolTarget, advise, clusters, describe_notes, potentials, rank,
        ruled_action, search,
    },
};
use wf_model::{
    AgentTool, JsonObject, OnStuck, Plan, Step, StepWork,
    expr::{ExprReference, ExprScope, StatusFunction},
};
use wf_store::{MegramSelection, StoreError};

use crate::{
    run::{RunContext, attempt_task::step_of},
    session::{EngineSession, state_addition::StateAddition},
};

/// Returns the advice from memory on the alternatives of a plan's steps.
pub(crate) fn advice(run: &RunContext) -> Result<Vec<ToolAdvice>, StoreError> {
    let intent = intent(run);
    let pairs = pairs(&run.plan, intent.as_deref());
    let parts = run.plan.parts();
    let planned = parts.planner.is_some() && parts.on_stuck != OnStuck::Abandon;
    let planned = planned || run.plan.guides_agents();
    if pairs.is_empty() && !planned {
        return Ok(Vec::new());
    }
    let session = &run.session;
    let (reader, now) = (session.store.reader()?, session.clock.now());
    let tools: BTreeSet<&str> = pairs.iter().map(|(_, pair)| pair.tool.as_str()).collect();
    let mut megrams = Vec::new();
    for tool in tools {
        let MegramTags { space, .. } = MegramTags::tool_of_run(tool, None, None);
        megrams.extend(reader.memory().megrams(&MegramSelection::Space(space))?);
    }
    let targets: Vec<ToolTarget> = pairs.iter().map(|(_, pair)| pair.clone()).collect();
    let advices = advise(&megrams, &targets, now);
    let rules: BTreeSet<_> = advices.iter().flat_map(|advice_of_tool| advice_of_tool.rules.clone()).collect();
    recall(session, rules.into_iter().collect(), now);
    let mut avoided = Vec::new();
    if planned {
        avoided = constraints(&run.plan, &slug(run), &reader.memory().megrams(&MegramSelection::All)?, now);
        let declared = |tool_advice: &ToolAdvice| {
            let mut ways = pairs.iter().map(|(way, _)| way);
            ways.any(|way| way.tool == tool_advice.tool && way.target == tool_advice.target)
        };
        avoided.retain(|said| !declared(said));
    }
    let advised = pairs.into_iter().zip(advices).filter_map(|((way, _), said)| {
        Some(ToolAdvice {
            advice: advice_kind(said.action)?,
            attention: rounded(said.attention),
            decision: rounded(said.decision),
            ..way
        })
    });
    Ok(advised.chain(avoided).collect())
}

/// Records that a run is told some rules.
fn recall(session: &EngineSession, megrams: Vec<Sha256Digest>, at: Moment) {
    if !megrams.is_empty() {
        session.note_addition(|| StateAddition::Recall { megrams: megrams.clone(), at });
        drop(session.store.memory().recall(megrams, at));
    }
}

/// True if a run of a plan may ask memory, or write a note.
pub(crate) fn may_be_asked(plan: &Plan) -> bool {
    let asks = |step: &Step| match &step.work {
        StepWork::Agent(agent) => {
            let tools = [AgentTool::Memory, AgentTool::Remember];
            agent.recall.is_some() || tools.iter().any(|tool| agent.tools.contains(tool))
        }
        // Nobody knows what such a plan asks.
        StepWork::Generated(_) => true,
        _ => false,
    };
    let parts = plan.parts();
    parts.replan.is_some()
        || parts.planner.is_some()
        || plan.guides_agents()
        || plan.steps().iter().flat_map(Step::ways).any(asks)
}

/// Returns everything memory says to avoid: a planner may propose any tool, declared or not. A name a planner of this
/// plan gave what it proposed is a text: another proposal may have the same.
fn constraints(plan: &Plan, intent: &str, megrams: &[Megram], now: Moment) -> Vec<ToolAdvice> {
    let own = format!("{}/", plan.id());
    let rules = clusters(megrams).into_iter().filter_map(|(tags, cluster)| {
        let (tool, target) = tags.as_tool(Some(intent)).filter(|(tool, _)| !tool.starts_with(&own))?;
        let pair = ToolTarget { tool: tool.to_owned(), entity: Some(tags.entity.clone()) };
        let cluster: Vec<Megram> = cluster.into_iter().cloned().collect();
        let rules = advise(&cluster, &[pair], now).pop()?;
        (rules.action == MemoryAction::Avoid).then(|| ToolAdvice {
            tool: tool.to_owned(),
            target: target.map(str::to_owned),
            advice: AdviceKind::Avoid,
            attention: rounded(rules.attention),
            decision: rounded(rules.decision),
        })
    });
    rules.collect()
}

/// Returns what memory knows about a task, for a planner. What this run has written is told by its rounds.
pub(crate) fn calibration(run: &RunContext, subject: &str) -> Result<MemoryCalibration, StoreError> {
    let session = &run.session;
    let mut megrams = session.store.reader()?.memory().megrams(&MegramSelection::All)?;
    megrams.retain(|megram| run.started().is_none_or(|started| megram.created < started));
    let words = format!("{subject} {}", intent_text(run).unwrap_or_default());
    let intent = slug(run);
    let task = CalibrationTask { words: &words, intent: Some(&intent) };
    Ok(MemoryCalibration::select(&megrams, &task, session.clock.now()))
}

/// Returns what memory knows about a task an agent recalls. What the outermost run has written is told by its rounds.
pub(crate) fn recalled(
    run: &RunContext,
    attempt: &Attempt,
    task: &str,
) -> Result<MemoryCalibration, StoreError> {
    let session = &run.session;
    if let Some(recorded) = session.shared.calibrations.get() {
        let key = (run.run_ref.path.clone(), attempt.clone());
        return Ok(recorded.get(&key).cloned().unwrap_or_default());
    }
    let began = run.account.started_of(&run.ownership.token.run);
    let mut megrams = session.store.reader()?.memory().megrams(&MegramSelection::All)?;
    megrams.retain(|megram| began.is_none_or(|began| megram.created < began));
    let task = CalibrationTask { words: task, intent: Some(&MegramTags::slug(task)) };
    Ok(MemoryCalibration::select(&megrams, &task, session.clock.now()))
}

/// Searches memory for an agent: of notes, the ones open to its session. This is no recall: nothing is written.
pub(crate) fn search_all(run: &RunContext, query: &MemoryQuery) -> Result<MemoryFindings, StoreError> {
    let reader = run.session.store.reader()?;
    let scope = NoteScope::of(run.session_name.clone());
    let words = NoteQuery { words: query.text.clone(), scope, ..NoteQuery::default() };
    let notes = rank(reader.memory().find_notes(&words)?, run.session.clock.now());
    let megrams = search(&reader.memory().megrams(&MegramSelection::All)?, query);
    if notes.is_empty() {
        return Ok(megrams);
    }
    let mut notes_text = describe_notes(&notes, query);
    notes_text.append(&megrams);
    Ok(notes_text)
}

/// The maximum number of new notes of an attempt (Silas 11).
const MAX_NOTES: usize = 10;

/// The end of an attempt's wish to add a note, as its agent is told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoteOutcome {
    Added(Sha256Digest),
    Known(Sha256Digest),
    /// The attempt has added as many as it may.
    TooMany,
}

impl fmt::Display for NoteOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(id) => write!(f, "remembered as note {}", id.short()),
            Self::Known(id) => write!(f, "note {} was known before", id.short()),
            Self::TooMany => write!(
                f,
                "an attempt adds at most {MAX_NOTES} notes, and this one has; nothing is remembered"
            ),
        }
    }
}

/// Adds a note of an attempt, unless it is known.
pub(crate) fn add_note(run: &RunContext, note: MemoryNote) -> Result<NoteOutcome, StoreError> {
    let (id, known) = (note.id, run.session.store.reader()?.memory().notes()?);
    if known.iter().any(|note_before| note_before.id == id) {
        return Ok(NoteOutcome::Known(id));
    }
    if known.iter().filter(|note_before| note_before.source == note.source).count() >= MAX_NOTES {
        return Ok(NoteOutcome::TooMany);
    }
    run.session.store.memory().add_notes(vec![note.clone()]).wait()?;
    run.session.note_addition(|| StateAddition::Note(Box::new(note)));
    Ok(NoteOutcome::Added(id))
}

/// Returns the advice from memory on the intent of a plan; `None` if too little is known.
pub(crate) fn intent_advice(run: &RunContext) -> Result<Option<IntentAdvice>, StoreError> {
    if run.plan.parts().replan.is_none() {
        return Ok(None);
    }
    let session = &run.session;
    let (reader, now) = (session.store.reader()?, session.clock.now());
    let slug = slug(run);
    let megrams = reader.memory().megrams(&MegramSelection::Cluster(MegramTags::intent(&slug)))?;
    let cluster: Vec<&Megram> = megrams.iter().collect();
    let sums = potentials(&megrams, now);
    let (action, rules) = ruled_action(&cluster).unwrap_or((sums.action, Vec::new()));
    recall(session, rules, now);
    Ok(advice_kind(action).map(|advice| IntentAdvice {
        slug,
        advice,
        attention: rounded(sums.attention),
        decision: rounded(sums.decision),
    }))
}

/// Returns the slug of the intent of a run: as its plan declares it, else of its title, else of its id.
fn slug(run: &RunContext) -> String {
    let title = run.plan.parts().title.as_deref();
    intent(run).unwrap_or_else(|| MegramTags::slug(title.unwrap_or(run.plan.id().as_str())))
}

/// Returns the machine's advice for an action; `None` if too little is known.
fn advice_kind(action: MemoryAction) -> Option<AdviceKind> {
    match action {
        MemoryAction::Avoid => Some(AdviceKind::Avoid),
        MemoryAction::Exploit => Some(AdviceKind::Exploit),
        MemoryAction::Caution => Some(AdviceKind::Caution),
        MemoryAction::Ignore => None,
    }
}

/// Returns the alternatives a controller can choose among, with the query of memory for each.
fn pairs(plan: &Plan, intent: Option<&str>) -> Vec<(ToolAdvice, ToolTarget)> {
    let parts = plan.parts();
    if parts.replan.is_none() {
        return Vec::new();
    }
    let steps = plan.steps().iter().take(parts.main);
    let mut pairs: Vec<(ToolAdvice, ToolTarget)> = Vec::new();
    for step in steps.filter(|step| !step.alternatives.is_empty()) {
        for way in 0..step.alternative_count() {
            let (tool, target) = (step.tool(way), step.target(way).map(str::to_owned));
            let pair = ToolTarget::of_run(&lasting_target(plan, step, way), target.as_deref(), intent);
            let said =
                ToolAdvice { tool, target, advice: AdviceKind::Caution, attention: 0.0, decision: 0.0 };
            if !pairs.iter().any(|(query, _)| *query == said) {
                pairs.push((said, pair));
            }
        }
    }
    pairs
}

/// Returns the name that memory knows a tool by: the plan's own name for it, which plans share;
/// else one with a meaning in this plan alone.
fn lasting_target(plan: &Plan, step: &Step, way: usize) -> String {
    let target = step.with_alternative(way).and_then(|step| step.tool.clone());
    target.unwrap_or_else(|| format!("{}/{}", plan.id(), step.tool(way)))
}

fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Writes the content of a durable event to memory, and tidies memory at the end of a run. Writing
/// it twice changes nothing, so a resumed run writes again what may have been lost.
pub(crate) fn remember(run: &RunContext, event: &Event) {
    if let EventKind::RoundCompleted(round) = &event.fact {
        let megrams = megrams(run, round, event.at);
        let store = &run.session.store;
        if !megrams.is_empty() {
            drop(store.memory().remember(megrams));
        }
        if !round.goes_on() {
            drop(store.memory().dream(event.at));
        }
    }
}

/// Returns the records of a round.
fn megrams(context: &RunContext, round: &Round, at: Moment) -> Vec<Megram> {
    let (plan, run, intent) = (&context.plan, &context.run_ref.id, intent(context));
    // A failure accepted within δ is not held against the alternative.
    let accepted = round.solved.directive == Directive::Success;
    let ways = round.alternatives.iter().enumerate();
    let ways = ways.filter(|(_, way)| way.failure_class.is_none() || !accepted);
    let slug = slug(context);
    let ways = ways.flat_map(|(number, way)| {
        let from = format!("{run} round {} way {number}", round.round);
        let (state, text) = (state(way, round.solved.directive), sentence(plan, way, round));
        subjects(plan, way, intent.as_deref(), &slug).into_iter().map(move |tags| {
            let origin = MegramOrigin { at, from: &from };
            Megram::new(state, tags, text.clone(), origin)
        })
    });
    let mut megrams: Vec<Megram> = ways.collect();
    let end = match round.solved.directive {
        Directive::Accept => Some(MegramState::Accept),
        Directive::Success => Some(MegramState::Success),
        _ if round.goes_on() => None,
        _ => Some(MegramState::Abandon),
    };
    if let Some(state) = end {
        let from = format!("{run} round {}", round.round);
        let text = format!("{}: {}, {}", plan.id(), round.checks, round.rationale);
        let origin = MegramOrigin { at, from: &from };
        megrams.push(Megram::new(state, MegramTags::intent(&slug), text, origin));
    }
    megrams
}

/// Returns the name of an alternative: the tool the plan names; and the called thing, where the plan does not name it,
/// since a model wrote it. A label a planner gave counts only if nothing was called.
fn subjects(plan: &Plan, alternative: &UsedAlternative, intent: Option<&str>, slug: &str) -> Vec<MegramTags> {
    let Some(step) = plan.find(alternative.step.as_str()).map(|ix| plan.step(ix)) else {
        return Vec::new();
    };
    let target = alternative.target.as_deref();
    let approach =
        approach_name(&alternative.calls).map(|done| MegramTags::tool_of_run(&done, target, Some(slug)));
    let named = |tool: &str| MegramTags::tool_of_run(tool, target, intent);
    let Some(at_way) = step.way_of(alternative.alternative.as_ref()) else {
        // An alternative from a planner is not in the plan as written.
        let is_own = step.tool.as_ref() == Some(&alternative.tool);
        let label =
            if is_own { alternative.tool.clone() } else { format!("{}/{}", plan.id(), alternative.tool) };
        return vec![approach.unwrap_or_else(|| named(&label))];
    };
    let written = step.with_alternative(at_way);
    let is_plan = written.is_some_and(|step| matches!(step.work, StepWork::Uses(_) | StepWork::Generated(_)));
    let done = approach.filter(|_| is_plan);
    [Some(named(&lasting_target(plan, step, at_way))), done].into_iter().flatten().collect()
}

fn state(alternative: &UsedAlternative, directive: Directive) -> MegramState {
    match (alternative.failure_class, directive) {
        (None, Directive::Success) => MegramState::Success,
        (None, _) if alternative.kind == Some(Directive::BreakSymmetry) => MegramState::BreakSymmetry,
        (None, _) => MegramState::Accept,
        (Some(_), Directive::Refine) => MegramState::Refine,
        (Some(RoundFailureClass::Environmental), _) => MegramState::ChangePath,
        (Some(_), _) => MegramState::ChangeApproach,
    }
}

fn sentence(plan: &Plan, alternative: &UsedAlternative, round: &Round) -> String {
    let on = alternative.target.as_ref().map(|target| format!(" on {target}"));
    let on = on.unwrap_or_default();
    let ending = match alternative.failure_class {
        None => "held".to_owned(),
        Some(blame) => format!("failed ({})", blame.as_str()),
    };
    let (step, tool, number) = (&alternative.step, &alternative.tool, round.round);
    let mut text = format!("step `{step}` of {} {ending} with {tool}{on} in round {number}", plan.id());
    if let Some(ordered) = round.previous {
        text += &format!(" under {ordered}");
    }
    if !alternative.calls.is_empty() {
        text += &format!("; it called {}", alternative.calls.join(", "));
    }
    if let Some(check) = &alternative.failed_check {
        text += &format!("; {check} failed");
    }
    text
}

/// Returns the intent the plan declares, with the parameters as the run was given them: before gates, and the same
/// in a process resuming it.
pub(super) fn intent_text(run: &RunContext) -> Option<String> {
    let intent = run.plan.parts().intent.as_ref()?;
    intent.render(&GivenParams(run.given_params())).ok()
}

/// Returns its slug; `None` if the plan declares none, or one without a word.
pub(crate) fn intent(run: &RunContext) -> Option<String> {
    intent_text(run).map(|text| MegramTags::slug(&text)).filter(|slug| !slug.is_empty())
}

/// The parameters of a run, as an intent reads them.
struct GivenParams<'a>(&'a JsonObject);

impl ExprScope for GivenParams<'_> {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        match reference {
            ExprReference::Param(param) => self.0.get(param).cloned(),
            _ => None,
        }
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

/// The open requests of a run.
#[derive(Default)]
pub(crate) struct OpenRequests(BTreeMap<u32, ApprovalRequest>);

impl OpenRequests {
    /// Notes a durable event. Decisions of people go to memory, if the workspace wants them there: a resumed run tells
    /// it again, and it counts once.
    pub(crate) fn note_event(&mut self, run: &RunContext, event: &Event) {
        if !run.session.learns_preferences {
            return;
        }
        match &event.fact {
            EventKind::ApprovalRequested(ask) => drop(self.0.insert(ask.request, (**ask).clone())),
            EventKind::ApprovalResolved { request, given, .. } => {
                let Some(ask) = self.0.remove(request) else { return };
                let step = ask.task_id.as_ref().map(|place| step_of(run, place));
                let external = step.is_some_and(|step| step.untrusted_input().is_some());
                let (id, plan) = (&run.run_ref.id, run.plan.id());
                if let Some(decision) = StepDecision::of(id, plan, &ask, given, external) {
                    drop(run.session.store.memory().note_decision(decision, event.at));
                }
            }
            _ => {}
        }
    }
}
