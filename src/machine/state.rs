use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::control::Control;
use super::pairs;
use super::stage::Counts;
use super::tries::Tries;
use super::{
    Artifact, Ask, Attempt, Item, Ledger, Outcome, Phase, Place, Standing, StepState, Tally,
};
use crate::digest::Digest;
use crate::model::{CheckPhase, Class, Fan, Object, Plan, StepIx};
use crate::name::RunId;
use crate::time::Moment;

/// A place by number, which orders places as the plan does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Spot {
    pub(super) step: u32,
    pub(super) item: Option<u32>,
}

impl Spot {
    pub(super) fn ix(self) -> StepIx {
        StepIx(self.step)
    }
}

/// Where a run stands. The fold of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The version of the rules that made it.
    pub(super) logic: u32,
    pub(super) run: RunId,
    pub(super) params: Object,
    pub(super) started: Option<Moment>,
    pub(super) phase: Phase,
    pub(super) steps: Vec<StepSlot>,
    /// Steps whose dependencies have ended and whose `when` has not been asked.
    pub(super) due: BTreeSet<u32>,
    /// Places that may begin as soon as there is room.
    pub(super) queue: BTreeSet<Spot>,
    /// Places that may begin at once, since they take up no room.
    pub(super) roomless: BTreeSet<Spot>,
    /// Places that something is being done for.
    #[serde(with = "pairs")]
    pub(super) live: BTreeMap<Spot, Live>,
    /// How many of them take up room.
    pub(super) busy: u32,
    /// What is counted of them, and of those before, to stage others.
    #[serde(default)]
    pub(super) counts: Counts,
    /// Places between two attempts, and when the next may begin.
    #[serde(with = "pairs")]
    pub(super) resting: BTreeMap<Spot, Moment>,
    /// Places that wait for a lock.
    pub(super) locking: BTreeSet<Spot>,
    /// Places that go on after a resume, as soon as they hold their lock again.
    pub(super) returning: BTreeSet<Spot>,
    /// Those of them about which people have agreed in the meantime.
    pub(super) unheard: BTreeSet<Spot>,
    /// Places that hold a lock.
    pub(super) locked: BTreeSet<Spot>,
    /// The step whose failure keeps others from beginning.
    pub(super) stopping: Option<u32>,
    /// Whether the run was told to end, and whether at once.
    pub(super) cancelled: Option<Cancelled>,
    pub(super) timed_out: bool,
    /// The first step whose failure counts.
    pub(super) failed: Option<u32>,
    /// Results of items taken over, by step and key, until the items are known.
    #[serde(with = "pairs")]
    pub(super) offers: BTreeMap<(u32, String), Offer>,
    /// Steps left out by choice, each with the keys of the items that run all the same.
    pub(super) left: BTreeMap<u32, Vec<String>>,
    /// Main steps that have not ended.
    pub(super) open: u32,
    /// `finally` steps that have not ended.
    pub(super) open_last: u32,
    /// Whether the plan's own criteria were ruled on, and held.
    pub(super) judged: Option<bool>,
    /// The last phase of the plan's own checks that is over, and was not the last.
    pub(super) passed: Option<CheckPhase>,
    /// The criteria of the plan that did not hold.
    pub(super) refuted: Vec<String>,
    /// Places whose last result was checked against files whose digests are recorded.
    pub(super) evidence: BTreeSet<Spot>,
    /// Places whose evidence is stale, each with a file that changed.
    #[serde(with = "pairs")]
    pub(super) stale: BTreeMap<Spot, String>,
    /// What people are asked and have not answered.
    #[serde(with = "pairs")]
    pub(super) asks: BTreeMap<u32, Asked>,
    /// How often they were asked.
    pub(super) asked: u32,
    /// How often the gates of the run were asked again.
    pub(super) gate_tries: u32,
    /// Why a gate keeps the run from going on.
    pub(super) blocked: Option<String>,
    /// The outputs of the run, if gates rewrote them.
    pub(super) published: Option<Object>,
    /// What the controller knows.
    pub(super) control: Control,
    /// What items of repeated steps begin with in the next round.
    #[serde(with = "pairs")]
    pub(super) made: BTreeMap<Spot, ItemSlot>,
    /// What it has used up, and of what budget.
    #[serde(default)]
    pub(super) ledger: Ledger,
    pub(super) tally: Tally,
    pub(super) outcome: Option<Outcome>,
}

/// What was asked for when somebody asked for the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cancelled {
    pub(super) why: String,
    pub(super) force: bool,
}

/// The result of an item, taken over from an earlier run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Offer {
    pub(super) outputs: Object,
    pub(super) standing: Standing,
    /// The run that did the work, if it was another one.
    pub(super) from: Option<RunId>,
}

/// Where a step stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StepSlot {
    /// Dependencies that have not ended.
    pub(super) waiting: u32,
    /// The first dependency that did not end well.
    pub(super) blocker: Option<u32>,
    /// Since when its dependencies have ended; of a repeated step, since when its items are known.
    pub(super) ready: Option<Moment>,
    pub(super) state: StepState,
    pub(super) standing: Standing,
    pub(super) tolerated: bool,
    /// The one place of a step that is not repeated.
    pub(super) once: ItemSlot,
    /// The items of a repeated step, once known.
    pub(super) many: Option<Box<Many>>,
    pub(super) outputs: Option<Box<Object>>,
}

/// The items of a repeated step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Many {
    pub(super) items: Vec<Item>,
    pub(super) slots: Vec<ItemSlot>,
    /// Items that have not ended.
    pub(super) open: u32,
    /// The first item that was not yet put into the queue.
    pub(super) next: u32,
}

/// Where a place stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "four separate facts")]
pub(super) struct ItemSlot {
    /// Attempts begun.
    pub(super) attempts: u32,
    /// How many of them were begun in earlier rounds.
    pub(super) base: u32,
    /// Whether it was told, since the last attempt, that it waits for its lock.
    pub(super) awaits: bool,
    /// Its final state.
    pub(super) ended: Option<StepState>,
    pub(super) standing: Standing,
    pub(super) class: Option<Class>,
    /// What the last successful attempt gave.
    pub(super) result: Option<Box<Gave>>,
    /// Whether its gates have let it in.
    pub(super) entered: bool,
    /// Whether they have let its next attempt begin; false again once that has.
    #[serde(default)]
    pub(super) admitted: bool,
    /// What its gates rewrote of what is to be executed.
    pub(super) tool_args: Option<serde_json::Value>,
    /// How often its gates were asked again.
    pub(super) gate_tries: u32,
    /// The last phase of the attempt's checks that is over, and was not the last.
    pub(super) passed: Option<CheckPhase>,
    /// Whether people let a phase of the attempt's checks be ignored.
    pub(super) ignored: bool,
    /// How often `inspect` sent the work back.
    pub(super) inspector_loops: u32,
    /// How often `test` did.
    pub(super) tester_loops: u32,
    /// What its attempts came to, once one did not work at once; gone when it has ended.
    pub(super) tries: Option<Box<Tries>>,
}

/// What a successful attempt, or the cache, gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Gave {
    pub(super) outputs: Object,
    pub(super) artifacts: Vec<Artifact>,
    pub(super) cached: Option<Digest>,
    /// How far the result of a nested run is believed.
    pub(super) standing: Option<Standing>,
}

/// What is being done for a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Live {
    pub(super) attempt: u32,
    pub(super) since: Moment,
    pub(super) doing: Doing,
    /// Whether it takes up room.
    pub(super) room: bool,
    /// Whether it is work of which nothing but the end of its process is to be seen.
    #[serde(default)]
    pub(super) plain: bool,
}

/// What people are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) ask: Ask,
    /// The place that waits for it; `None`: the run does.
    pub(super) spot: Option<Spot>,
}

/// The parts of the life of a place that the world works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Doing {
    /// Its cache key is being looked up.
    Looking,
    /// Its work begins as soon as another's has ended; it takes up no room.
    Staged,
    /// Its work runs.
    Working,
    /// Its checks run.
    Checking,
    /// The gates before it are asked.
    Entering,
    /// The gates after its work are asked.
    Leaving,
    /// People are asked.
    Asking,
}

impl State {
    /// The state of a run that has not begun.
    pub(super) fn new(plan: &Plan, run: RunId, params: Object) -> Self {
        let slot = |step: &crate::model::Step| StepSlot {
            waiting: u32::try_from(step.depends_on.len()).unwrap_or(u32::MAX),
            ..StepSlot::default()
        };
        let main = plan.parts().main.min(plan.steps().len());
        Self {
            logic: super::LOGIC,
            run,
            params,
            started: None,
            phase: Phase::Steps,
            steps: plan.steps().iter().map(slot).collect(),
            due: BTreeSet::new(),
            queue: BTreeSet::new(),
            roomless: BTreeSet::new(),
            live: BTreeMap::new(),
            busy: 0,
            counts: Counts::default(),
            resting: BTreeMap::new(),
            locking: BTreeSet::new(),
            returning: BTreeSet::new(),
            unheard: BTreeSet::new(),
            locked: BTreeSet::new(),
            stopping: None,
            cancelled: None,
            timed_out: false,
            failed: None,
            offers: BTreeMap::new(),
            left: BTreeMap::new(),
            open: u32::try_from(main).unwrap_or(u32::MAX),
            open_last: u32::try_from(plan.steps().len() - main).unwrap_or(u32::MAX),
            judged: None,
            passed: None,
            refuted: Vec::new(),
            evidence: BTreeSet::new(),
            stale: BTreeMap::new(),
            asks: BTreeMap::new(),
            asked: 0,
            gate_tries: 0,
            blocked: None,
            published: None,
            control: Control::default(),
            made: BTreeMap::new(),
            ledger: Ledger::default(),
            tally: Tally::default(),
            outcome: None,
        }
    }

    /// Where a step stands.
    pub(super) fn slot(&self, step: u32) -> &StepSlot {
        &self.steps[step as usize]
    }

    /// Where a step stands, to be changed.
    pub(super) fn slot_mut(&mut self, step: u32) -> &mut StepSlot {
        &mut self.steps[step as usize]
    }

    /// Where a place stands; `None` for an item that does not exist.
    pub(super) fn place(&self, spot: Spot) -> Option<&ItemSlot> {
        let slot = self.slot(spot.step);
        match (spot.item, &slot.many) {
            (None, _) => Some(&slot.once),
            (Some(item), Some(many)) => many.slots.get(item as usize),
            (Some(_), None) => None,
        }
    }

    /// Where a place stands, to be changed.
    pub(super) fn place_mut(&mut self, spot: Spot) -> Option<&mut ItemSlot> {
        let slot = self.slot_mut(spot.step);
        match (spot.item, &mut slot.many) {
            (None, _) => Some(&mut slot.once),
            (Some(item), Some(many)) => many.slots.get_mut(item as usize),
            (Some(_), None) => None,
        }
    }

    /// The item of a place, where its step is repeated.
    pub(super) fn item(&self, spot: Spot) -> Option<&Item> {
        let many = self.slot(spot.step).many.as_ref()?;
        many.items.get(spot.item? as usize)
    }

    /// Whether the run was told to end or took too long: nothing but `finally` steps begins.
    pub(super) fn ending(&self) -> bool {
        self.cancelled.is_some() || self.timed_out || self.ledger.overtime
    }

    /// Whether gates kept the run from beginning, or it was told to end before they let it.
    pub(super) fn never_began(&self) -> bool {
        self.phase == Phase::Gates && (self.ending() || self.blocked.is_some())
    }

    /// Whether somebody chose to leave an item out.
    pub(super) fn is_left(&self, step: u32, key: &str) -> bool {
        let but = self.left.get(&step);
        but.is_some_and(|but| but.iter().all(|run| run != key))
    }

    /// Lets a place begin as soon as there is room.
    pub(super) fn enqueue(&mut self, plan: &Plan, spot: Spot) {
        let roomy = super::apply::takes_room(plan, spot);
        if roomy {
            &mut self.queue
        } else {
            &mut self.roomless
        }
        .insert(spot);
    }

    /// Whether a place waits for its turn.
    pub(super) fn is_queued(&self, spot: Spot) -> bool {
        self.queue.contains(&spot) || self.roomless.contains(&spot) || self.locking.contains(&spot)
    }

    /// Whether nothing may begin at all any more.
    pub(super) fn forced(&self) -> bool {
        self.cancelled
            .as_ref()
            .is_some_and(|cancelled| cancelled.force)
    }
}

/// The number of a named place; `None` if the plan has no such step.
pub(super) fn spot(plan: &Plan, place: &Place) -> Option<Spot> {
    let ix = plan.find(place.step.as_str())?;
    let repeated = !matches!(plan.step(ix).fan, Fan::Once);
    (repeated || place.item.is_none()).then_some(Spot {
        step: ix.0,
        item: place.item,
    })
}

/// The name of a numbered place.
pub(super) fn place(plan: &Plan, spot: Spot) -> Place {
    Place {
        step: plan.step(spot.ix()).id.clone(),
        item: spot.item,
    }
}

/// The name of an attempt of a numbered place.
pub(super) fn attempt(plan: &Plan, spot: Spot, attempt: u32) -> Attempt {
    Attempt {
        place: place(plan, spot),
        attempt,
    }
}
