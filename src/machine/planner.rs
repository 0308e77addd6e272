//! The planner: where another round is ordered and no declared way is left, a program is asked for
//! one (artoo v0.8, R2 and R7; Silas 19.5.3).
//!
//! The round stays open while it is asked. What it answers is checked against what is blocked and
//! against what the step may reach; then it is a child of the plan, or refused, and recorded either
//! way. It is asked at most once for a round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::actuator::class;
use super::advised::about;
use super::measure::Measured;
use super::request::digest;
use super::rounds::in_ways;
use super::{Advice, Blame, Effect, Fact, Machine, Proposal, Round, StepState};
use crate::digest::Digest;
use crate::ggs::Directive;
use crate::model::{Alternative, OnStuck, Once, Plan, StepIx, Work};
use crate::name::Name;
use crate::time::Moment;

/// The longest answer of a planner that is read, in bytes.
pub const ANSWER_LIMIT: usize = 256 * 1024;

/// The longest reason of a planner that is kept, in characters.
const REASON_LIMIT: usize = 500;

/// What a planner was asked, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Planning {
    /// When: a round is measured by when it ended, however long the planner takes.
    pub(super) since: Moment,
    /// What became of it; `None`: nothing yet.
    pub(super) answer: Option<Answer>,
}

/// What became of the question to a planner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// It proposed ways that may be used, for these steps.
    Taken(Vec<Name>),
    /// It did not, for this reason.
    Refused(String),
}

/// What a planner proposes: ways by step, and why.
type Proposed = (BTreeMap<Name, Proposal>, String);

impl Machine {
    /// Whether a planner is being asked.
    pub(super) fn is_planning(&self) -> bool {
        let planning = self.state.control.planning.as_ref();
        planning.is_some_and(|planning| planning.answer.is_none())
    }

    /// Asks the planner, if there is one and it has not been asked about this round. True if it is
    /// being asked now.
    pub(super) fn consult(&mut self, measured: &Measured, round: &mut Round) -> bool {
        let parts = self.plan.parts();
        let consults = parts.on_stuck == OnStuck::ConsultPlanner && parts.planner.is_some();
        let steps = self.can_change(measured);
        match &self.state.control.planning {
            None if consults && !steps.is_empty() => {}
            Some(planning) => {
                if let (Some(Answer::Refused(why)), Some(stuck)) =
                    (&planning.answer, &mut round.stuck)
                {
                    stuck.push_str(&format!(", and the planner gave none: {why}"));
                }
                return false;
            }
            None => return false,
        }
        let names = steps.iter();
        let names = names.map(|step| self.base.step(StepIx(*step)).id.clone());
        self.emit(Fact::PlannerAsked {
            round: round.number,
            plan: digest(&self.base),
            steps: names.collect(),
        });
        self.ask_planner(measured, round.clone());
        true
    }

    fn ask_planner(&mut self, measured: &Measured, round: Round) {
        let request = Box::new(self.plan_request(measured, round));
        self.turn.effects.push(Effect::Plan { request });
    }

    /// Asks once more, after a resume.
    pub(super) fn ask_planner_again(&mut self) {
        if let Some((measured, round)) = self.weigh() {
            self.ask_planner(&measured, round);
        }
    }

    /// The steps whose work can be done otherwise by what a planner says: those that failed, or, if
    /// none did and the whole does not hold, those that did something.
    pub(super) fn can_change(&self, measured: &Measured) -> Vec<u32> {
        let mut steps: Vec<u32> = if measured.failing.is_empty() {
            let main = 0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX);
            main.filter(|step| self.state.slot(*step).state == StepState::Succeeded)
                .collect()
        } else {
            measured.failing.iter().map(|(step, _)| *step).collect()
        };
        let is_process = |step: &u32| {
            let work = &self.base.step(StepIx(*step)).work;
            matches!(work, Work::Run(_) | Work::Exec(_))
        };
        steps.retain(is_process);
        steps.sort_unstable();
        steps
    }

    /// Takes in what the planner printed, or why it printed nothing that counts.
    pub(super) fn planned(&mut self, number: u32, said: Result<String, String>) {
        if !self.is_planning() || number != self.state.control.rounds.saturating_add(1) {
            return;
        }
        let proposed = if self.state.closing() {
            Err("the run was told to end".into())
        } else {
            said.and_then(|text| self.proposed(&text))
        };
        match proposed {
            Ok((ways, reason)) => {
                let parent = digest(&self.base);
                let plan = digest(&extended(&self.base, &ways));
                self.emit(Fact::PlannerAnswered {
                    round: number,
                    plan,
                    parent,
                    ways,
                    reason,
                });
            }
            Err(why) => {
                let (round, why) = (number, super::finish::cut(one_line(&why)));
                self.emit(Fact::PlannerRefused { round, why });
            }
        }
        self.after_verify();
    }

    /// Reads what a planner printed, and checks it against what is blocked, what it was asked
    /// about and what the steps may reach.
    fn proposed(&self, text: &str) -> Result<Proposed, String> {
        let (ways, reason) = read(text)?;
        let (measured, round) = self.weigh().ok_or("there is no round")?;
        let asked = self.can_change(&measured);
        let mut found = Vec::new();
        for (name, proposal) in &ways {
            let wrong = |why: String| format!("step `{name}`: {why}");
            let Some(ix) = self.base.find(name.as_str()) else {
                return Err(wrong("there is no such step".into()));
            };
            if !asked.contains(&ix.0) {
                return Err(wrong("it was not asked about".into()));
            }
            let alternative = proposal.alternative(self.base.step(ix)).map_err(wrong)?;
            found.push((ix, alternative));
        }
        // All of them are taken, so what one step gives up is blocked for every other, too.
        let steps: Vec<u32> = found.iter().map(|(ix, _)| ix.0).collect();
        let blocked = self.blocked_after(&steps, &measured, &round);
        for (ix, alternative) in found {
            let wrong = |why| format!("step `{}`: {why}", self.base.step(ix).id);
            self.may_use(ix, alternative, &blocked, round.solved.directive)
                .map_err(wrong)?;
        }
        Ok((ways, reason))
    }

    /// What may not be used after a round in which these steps are done otherwise.
    fn blocked_after(&self, steps: &[u32], measured: &Measured, round: &Round) -> Blocked {
        let mut tools: BTreeSet<String> = round.blocked_tools.iter().cloned().collect();
        let mut targets: BTreeSet<String> = round.blocked_targets.iter().cloned().collect();
        if measured.failing.is_empty() {
            let logical = measured.class() != Some(Blame::Environmental);
            let directive = round.solved.directive;
            for step in steps {
                self.rule_out(*step, logical, directive, (&mut tools, &mut targets));
            }
        }
        (tools, targets)
    }

    /// Checks that a way uses nothing of what it must not: what is blocked, what memory says to
    /// avoid, and under `break_symmetry` a class of tools that was used.
    fn may_use(
        &self,
        ix: StepIx,
        alternative: Alternative,
        (tools, targets): &Blocked,
        directive: Directive,
    ) -> Result<(), String> {
        let mut step = self.base.step(ix).clone();
        step.alternatives.push(alternative);
        let last = step.ways() - 1;
        let (tool, target) = (step.tool(last), step.target(last));
        if tools.contains(&tool) {
            return Err(format!("the tool `{tool}` is blocked"));
        }
        if let Some(target) = target.filter(|target| targets.contains(*target)) {
            return Err(format!("the target `{target}` is blocked"));
        }
        let class = class(&tool);
        if self.used_classes(directive).contains(class) {
            return Err(format!(
                "the tool `{tool}` is of the class `{class}`, which was used in this run, \
                 and `break_symmetry` orders another"
            ));
        }
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        // Unlike a declared way, it is refused also where every way is to be avoided: there may
        // be others that nobody has thought of.
        let said = about(&self.state.control.advice, &step, last);
        match said.filter(|said| said.advice == Advice::Avoid) {
            None => Ok(()),
            Some(said) => {
                let on = said.target.as_ref().map(|target| format!(" on `{target}`"));
                let on = on.unwrap_or_default();
                Err(format!("memory says to avoid the tool `{tool}`{on}"))
            }
        }
    }

    /// The classes of tools that may not be used, as they were in this run: those that were, where
    /// that is what a directive says.
    pub(super) fn used_classes(&self, directive: Directive) -> BTreeSet<String> {
        if directive != Directive::BreakSymmetry {
            return BTreeSet::new();
        }
        let used = self.tools_used();
        used.iter().map(|tool| class(tool).to_owned()).collect()
    }

    /// The steps that a planner gave ways for after the round that has ended.
    pub(super) fn given_ways(&self) -> Vec<u32> {
        let planning = self.state.control.planning.as_ref();
        let Some(Answer::Taken(names)) = planning.and_then(|planning| planning.answer.as_ref())
        else {
            return Vec::new();
        };
        let found = names
            .iter()
            .filter_map(|name| self.base.find(name.as_str()));
        found.map(|ix| ix.0).collect()
    }

    /// Lets what was proposed and recorded be part of the plan from now on.
    pub(super) fn adopt(&mut self, ways: &BTreeMap<Name, Proposal>) {
        self.base = extended(&self.base, ways);
        self.plan = in_ways(&self.base, &self.state.control.ways);
    }

    /// The digest of the plan as it is now, with the ways that a planner added.
    pub fn plan_digest(&self) -> Digest {
        digest(&self.base)
    }
}

/// What may not be used: tools and targets.
type Blocked = (BTreeSet<String>, BTreeSet<String>);

/// A plan with what was proposed.
fn extended(base: &Arc<Plan>, ways: &BTreeMap<Name, Proposal>) -> Arc<Plan> {
    let more = ways.iter().filter_map(|(name, proposal)| {
        let ix = base.find(name.as_str())?;
        let alternative = proposal.alternative(base.step(ix)).ok()?;
        Some((ix.0, alternative))
    });
    base.with_alternatives(more.collect())
}

/// What a planner says, on one line and without what a terminal obeys: it is shown beside what is
/// proved, and must not look like that.
fn one_line(text: &str) -> String {
    let plain = text.replace(char::is_control, " ");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads what a planner printed.
fn read(text: &str) -> Result<Proposed, String> {
    if text.len() > ANSWER_LIMIT {
        return Err(format!("it printed more than {ANSWER_LIMIT} bytes"));
    }
    let said: Once = serde_json::from_str(text.trim())
        .map_err(|error| format!("it printed no JSON document: {error}"))?;
    let said = said.0;
    let members = said.as_object().ok_or("it printed no JSON object")?;
    let other = members
        .keys()
        .find(|key| !["steps", "reason"].contains(&key.as_str()));
    if let Some(key) = other {
        return Err(format!(
            "it says `{key}`: an answer has `steps` and `reason`"
        ));
    }
    let reason = match members.get("reason") {
        None => String::new(),
        Some(Value::String(reason)) => one_line(reason).chars().take(REASON_LIMIT).collect(),
        Some(_) => return Err("its reason is no text".into()),
    };
    let steps = members.get("steps").and_then(Value::as_object);
    let steps = steps.ok_or("it says no `steps`")?;
    let ways = steps.iter().map(|(name, value)| {
        let wrong = |why: String| format!("step `{name}`: {why}");
        let step = Name::parse(name).map_err(|_| wrong("there is no such step".into()))?;
        Ok((step, Proposal::read(value).map_err(wrong)?))
    });
    let ways: BTreeMap<Name, Proposal> = ways.collect::<Result<_, String>>()?;
    if ways.is_empty() {
        let because = if reason.is_empty() { "" } else { ": " };
        return Err(format!("it knows no other way{because}{reason}"));
    }
    Ok((ways, reason))
}
