use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Advised, Approved, Artifact, Ask, Attempt, Baseline, Cached, Change, Criteria, Exit, GatePoint,
    Given, IntentAdvice, Item, Loop, Outcome, Phase, Place, Proposal, Round, Spent, Stale,
    Standing, StepState, Tally, Usage, Verdict,
};
use crate::digest::Digest;
use crate::gate::GateResult;
use crate::model::{Budget, CheckPhase, Class, EscalationAction, Object};
use crate::name::{GateId, Name, PlanId, RunId};
use crate::time::Moment;

/// The longest evidence or reason that is kept, in characters.
pub const WHY_LIMIT: usize = 1000;

/// A fact about a run: the record's unit and the public event format, version 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Event {
    /// When.
    pub at: Moment,
    /// What.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What can be true of a run, in the past tense.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Fact {
    /// The run began.
    RunStarted {
        /// The version of the rules it runs by.
        logic: u32,
        /// The plan.
        plan: PlanId,
        /// Its resolved parameters.
        params: Object,
    },
    /// Somebody signed for the run. The approval is used up with this.
    RunApproved(Box<Approved>),
    /// The workspace was looked at before any work began.
    BaselineTaken(Baseline),
    /// What the run may use up.
    BudgetSet(Box<Budget>),
    /// A result was taken over from an earlier run.
    StepKept {
        /// The step.
        step: Name,
        /// Its outputs.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
        /// How far it is believed.
        standing: Standing,
        /// The run that did the work.
        from: RunId,
    },
    /// The result of an item was taken over from an earlier run. The item ends with it as soon
    /// as it is known.
    ItemKept {
        /// The step.
        step: Name,
        /// The key of the item.
        key: String,
        /// Its outputs.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
        /// How far it is believed.
        standing: Standing,
        /// The run that did the work.
        from: RunId,
    },
    /// A result of an earlier run was not taken over, since it is not what that run left. Its step
    /// runs again.
    ResultDropped {
        /// The step.
        step: Name,
        /// The key of the item; absent: the whole step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The difference.
        why: String,
        /// The run that did the work.
        from: RunId,
    },
    /// Somebody chose to leave a step out of this run, or all of its items but some. What is left
    /// out is skipped when its turn comes.
    StepLeft {
        /// The step.
        step: Name,
        /// The keys of the items that run all the same; empty: the whole step is left out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        but: Vec<String>,
    },
    /// The items of a repeated step became known.
    StepExpanded {
        /// The step.
        step: Name,
        /// Its items in order.
        items: Vec<Item>,
    },
    /// A place waits for a named lock.
    LockAwaited {
        /// Who waits.
        #[serde(flatten)]
        place: Place,
        /// For which lock.
        lock: String,
    },
    /// The cache held a result; checks still have to confirm it where there are any. It is
    /// judged as attempt 0.
    CacheHit {
        /// Whose.
        #[serde(flatten)]
        place: Place,
        /// What was found.
        #[serde(flatten)]
        found: Cached,
    },
    /// An attempt begins as soon as another one has ended, and is not seen to begin before this is
    /// durable. It is started, or taken off the stage, before anything else is said of its place.
    AttemptStaged(Attempt),
    /// An attempt that was staged has not begun, and will not before it is staged or started anew.
    AttemptUnstaged(Attempt),
    /// An attempt began. Durable before anything acts, if the attempt was not staged.
    AttemptStarted(Attempt),
    /// The work of an attempt ended; nothing is believed yet.
    AttemptEnded {
        /// Which.
        #[serde(flatten)]
        attempt: Attempt,
        /// How.
        #[serde(rename = "exit")]
        how: Exit,
        /// Whose fault a failure is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// Its outputs, checked against their declarations.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
        /// The files it left.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
        /// How far the result of a nested run is believed, if gates are to look at it first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        standing: Option<Standing>,
        /// What it used up, as it said, however it ended.
        #[serde(default, skip_serializing_if = "Usage::is_zero")]
        usage: Usage,
        /// Whether something that it started lives on, until the run ends.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        service: bool,
    },
    /// The files of an attempt's evidence, as they were when it was checked: its declared inputs
    /// and outputs.
    EvidenceTaken {
        /// Which.
        #[serde(flatten)]
        attempt: Attempt,
        /// The files.
        files: Vec<Artifact>,
    },
    /// A file of the evidence of what had ended verified has changed since: it is the worker's
    /// word again.
    EvidenceStale(Stale),
    /// A criterion of an attempt, or of the plan, was ruled on.
    CriterionJudged {
        /// The attempt; absent for the plan's own criteria.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// The ruling.
        verdict: Verdict,
    },
    /// The checks of a phase of an attempt, or of the plan, hold, or people let it be ignored, and
    /// those of the next phase follow.
    ChecksPassed {
        /// The attempt; absent for the plan's own checks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Attempt>,
        /// Which.
        phase: CheckPhase,
    },
    /// A gate was asked.
    GateJudged {
        /// The place; absent for a gate of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// What it said.
        result: GateResult,
    },
    /// All gates at a point let pass, or somebody agreed where they asked for that.
    GatesPassed {
        /// The place; absent for the gates of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// Where.
        point: GatePoint,
        /// What they rewrote, and to what.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        rewritten: Object,
    },
    /// Something is done about the block of a gate.
    Escalated {
        /// The place; absent for a gate of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// The gate that blocked.
        gate: GateId,
        /// The name of the escalation.
        name: String,
        /// What is done.
        action: EscalationAction,
        /// What is said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// People are asked to agree to something.
    ApprovalAsked(Box<Ask>),
    /// What became of that.
    ApprovalAnswered {
        /// The number of what was asked, in its run.
        number: u32,
        /// The place that waited for it; absent: the run did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
        /// What was decided.
        #[serde(flatten)]
        given: Given,
    },
    /// Memory knows something about how the plan's intent ended before, or about how steps are
    /// done. Only plans with `replan` ask it.
    MemoryAdvised {
        /// What it says about the intent; absent: too little is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<IntentAdvice>,
        /// What it says.
        advice: Vec<Advised>,
        /// The steps that begin in another way than they are written, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<Change>,
    },
    /// All steps of a round have ended, and the controller has judged it. Only runs of plans with
    /// `replan` have rounds.
    RoundClosed(Box<Round>),
    /// A round has ended, no declared way is left, and the planner is asked for one.
    PlannerAsked {
        /// The number of the round.
        round: u32,
        /// The digest of the plan as it is.
        plan: Digest,
        /// The steps that it is asked about, in plan order.
        steps: Vec<Name>,
    },
    /// The planner gave ways that may be used: the plan has them from now on.
    PlannerAnswered {
        /// The number of the round.
        round: u32,
        /// The digest of the plan that has them.
        plan: Digest,
        /// The digest of the plan that it was asked about.
        parent: Digest,
        /// A way for each step, as it was given.
        ways: BTreeMap<Name, Proposal>,
        /// Why, in its words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// The planner gave nothing, or something that may not be used.
    PlannerRefused {
        /// The number of the round.
        round: u32,
        /// Why.
        why: String,
    },
    /// A gate keeps the run from going on.
    RunBlocked {
        /// The gate, or what else it was that nobody agreed to.
        gate: GateId,
        /// Why.
        why: String,
    },
    /// A failed attempt will be followed by another.
    RetryScheduled {
        /// The next attempt.
        #[serde(flatten)]
        attempt: Attempt,
        /// When it may begin.
        due: Moment,
        /// Why the one before failed.
        why: String,
        /// Which loop of `inspect` or `test` it is; absent: it is none.
        #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
        looped: Option<Loop>,
    },
    /// A place ended: a step, or an item of a repeated step.
    StepEnded {
        /// Which.
        #[serde(flatten)]
        place: Place,
        /// How: one of the final states.
        state: StepState,
        /// How far it is believed.
        standing: Standing,
        /// Why it ended so; empty for success.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// Whose fault a failure is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// Whether its failure lets the run go on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tolerated: bool,
        /// The cache key under which an earlier result was found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cached: Option<Digest>,
        /// The outputs of a repeated step, lists in item order, or of an item that was kept.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
        /// The run that did the work of an item that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<RunId>,
    },
    /// No further step begins, because one failed.
    RunStopping {
        /// The failed step.
        step: Name,
    },
    /// The run was told to end.
    CancelRequested {
        /// Who or why.
        why: String,
        /// Whether what runs is killed without grace.
        force: bool,
    },
    /// The run took longer than it may.
    RunTimedOut,
    /// A part of a limit of the budget is used up: 80, 90 or 95 percent, told once each; where
    /// several were reached at once, the highest.
    BudgetNoticed {
        /// Of what, and how much.
        #[serde(flatten)]
        spent: Spent,
        /// The part that is reached.
        percent: u32,
    },
    /// The run makes progress and has more time.
    BudgetExtended {
        /// The new limit on the time, in milliseconds from the beginning of the run.
        limit: u64,
    },
    /// The budget is spent: nothing begins any more but checks of what ran, and `finally` steps.
    BudgetSpent {
        /// Of what, and how much.
        #[serde(flatten)]
        spent: Spent,
        /// Whether what runs is ended, too: the time is over.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_once: bool,
    },
    /// The run passed on to its next part.
    PhaseEntered {
        /// Which.
        phase: Phase,
    },
    /// The run ended.
    RunEnded {
        /// How.
        outcome: Outcome,
        /// Why, in one sentence; for success, what was not checked and on whose word, if there was such.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        why: String,
        /// The first step that failed, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<Name>,
        /// How far the result is believed.
        standing: Standing,
        /// How the steps ended.
        tally: Tally,
        /// The places whose evidence is stale, each with a file that changed, in plan order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stale: Vec<Stale>,
        /// The plan's outputs.
        #[serde(default, skip_serializing_if = "Object::is_empty")]
        outputs: Object,
        /// How many criteria hold, if the result was accepted with less than all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accepted: Option<Criteria>,
    },
}
