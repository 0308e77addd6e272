use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::decide::Scene;
use super::meaning::same_whole;
use super::reads::{Reading, Reads};
use super::rows::{Rows, nested_run, taken_over};
use super::{Again, Choice, Fate, decide};
use crate::machine::{Dropped, Event, Fact, Kept, Left, StepState};
use crate::model::{Object, Plan, StepIx, Uses, Work};
use crate::name::{Name, RunId};
use crate::store::{Reader, RunRow, RunState, StoreError};

/// A run that is repeated, and what becomes of each of its steps.
#[derive(Clone, Debug)]
pub struct Past {
    run: Option<RunId>,
    before: Option<Arc<Plan>>,
    now: Arc<Plan>,
    choice: Choice,
    earlier: Choice,
    changed: BTreeSet<Name>,
    rows: Rows,
    partial: BTreeSet<(Name, Option<String>)>,
    is_nested: bool,
    good: bool,
    succeeded: bool,
    dropped: Vec<Dropped>,
    fates: Vec<Fate>,
}

/// What is to be repeated, and how.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The run; `None` if it is not known any more, or never was.
    pub run: Option<RunId>,
    /// The plan that it ran by; `None` if that cannot be read any more: nothing is kept then.
    pub before: Option<Arc<Plan>>,
    /// The plan to run by now.
    pub now: Arc<Plan>,
    /// What was chosen.
    pub choice: Choice,
}

/// The values of the parameters of a nested plan, as far as they are known.
enum Given<'a> {
    Values(&'a Object),
    /// Only that those which read something that changed may differ.
    Unknown(BTreeSet<Name>),
}

impl Past {
    /// Looks at a run that is repeated with these parameters.
    pub fn of(reader: &Reader, ask: Ask, params: &Object) -> Result<Self, StoreError> {
        let earlier = match &ask.run {
            Some(run) => recorded_choice(reader, run)?,
            None => Choice::default(),
        };
        Self::look(reader, ask, earlier, &Given::Values(params))
    }

    /// Looks at the run that was nested in a step, or in an item of it, and that is repeated with
    /// these parameters; without them, as far as can be seen before. `None` if the step uses no
    /// plan.
    pub fn nested(
        &self,
        reader: &Reader,
        step: &Name,
        key: Option<&str>,
        params: Option<&Object>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(used) = uses(&self.now, step) else {
            return Ok(None);
        };
        let run = match &self.run {
            Some(run) => nested_run(reader, run, step, key)?,
            None => None,
        };
        let mut choice = self.choice.inside(step, key);
        choice.all |= !self.keeps_inside(step, key);
        let before = self.before.as_ref().and_then(|plan| uses(plan, step));
        let given = match params {
            Some(params) => Given::Values(params),
            None => Given::Unknown(self.unsure(used)),
        };
        let ask = Ask {
            run,
            before: before.map(|uses| uses.plan.clone()),
            now: used.plan.clone(),
            choice,
        };
        let earlier = self.earlier.inside(step, key);
        Self::look(reader, ask, earlier, &given).map(Some)
    }

    fn look(
        reader: &Reader,
        ask: Ask,
        earlier: Choice,
        given: &Given<'_>,
    ) -> Result<Self, StoreError> {
        let Ask {
            run,
            before,
            now,
            choice,
        } = ask;
        let row = run.as_ref().map(|run| known(reader, run)).transpose()?;
        let row = row.flatten();
        let rows = match &row {
            Some(row) => Rows::read(reader, &row.id)?,
            None => Rows::default(),
        };
        let changed = match (given, &row) {
            (Given::Values(params), Some(row)) => differing(&row.params, params),
            (Given::Unknown(names), _) => names.clone(),
            (_, None) => BTreeSet::new(),
        };
        let partial = match &row {
            Some(row) if earlier.narrow => rows.partial(reader, &row.id, &earlier)?,
            _ => BTreeSet::new(),
        };
        let good = row
            .as_ref()
            .zip(before.as_deref())
            .is_some_and(|(row, before)| was_good(row, before));
        let past = Self {
            run,
            before,
            now,
            choice,
            earlier,
            changed,
            rows,
            partial,
            is_nested: row.as_ref().is_some_and(|row| row.parent.is_some()),
            good,
            succeeded: row.is_some_and(|row| succeeded(&row)),
            dropped: Vec::new(),
            fates: Vec::new(),
        };
        Ok(past.decided())
    }

    /// With what becomes of each step, by all that is known.
    fn decided(mut self) -> Self {
        let dropped = self.dropped.iter();
        let dropped = dropped.map(|one| ((one.step.clone(), one.item.clone()), one.why.clone()));
        let dropped: BTreeMap<_, _> = dropped.collect();
        self.fates = decide::fates(&Scene {
            before: self.before.as_deref(),
            now: &self.now,
            choice: &self.choice,
            narrow: self.earlier.narrow,
            partial: &self.partial,
            changed: &self.changed,
            rows: &self.rows,
            dropped: &dropped,
            good: self.good,
        });
        self
    }

    /// The same without some results, which are not what they were.
    #[must_use]
    pub fn without(mut self, dropped: Vec<Dropped>) -> Self {
        if dropped.is_empty() {
            return self;
        }
        self.dropped.extend(dropped);
        self.decided()
    }

    /// The same as it was decided when a run began, by the events of that.
    #[must_use]
    pub fn as_recorded<'a>(self, events: impl IntoIterator<Item = &'a Event>) -> Self {
        let dropped = events.into_iter().filter_map(|event| match &event.fact {
            Fact::ResultDropped {
                step,
                key,
                why,
                from,
            } => Some(Dropped {
                step: step.clone(),
                item: key.clone(),
                why: why.clone(),
                from: from.clone(),
            }),
            _ => None,
        });
        self.without(dropped.collect())
    }

    /// Whether something that runs again may need what a step left running: what depends on it, the
    /// plan's own criteria, and whatever uses this plan.
    pub fn needs_again(&self, step: &Name) -> bool {
        let Some(ix) = self.now.find(step.as_str()) else {
            return false;
        };
        let asked = !self.now.parts().verify.is_empty() && !self.is_done();
        let mut next: Vec<StepIx> = self.now.dependents(ix).to_vec();
        let mut seen = BTreeSet::new();
        while let Some(ix) = next.pop() {
            if matches!(self.fates.get(ix.at()), Some(Fate::Again(_))) {
                return true;
            }
            if seen.insert(ix.at()) {
                next.extend(self.now.dependents(ix));
            }
        }
        asked || self.is_nested
    }

    /// The results that are not what they were.
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// Whether the run succeeded.
    pub fn succeeded(&self) -> bool {
        self.succeeded
    }

    /// The run; `None` if no such run was nested there.
    pub fn run(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// The plan to run by now.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.now
    }

    /// What becomes of the steps of the plan, in their order.
    pub fn fates(&self) -> impl Iterator<Item = (&Name, &Fate)> {
        let names = self.now.steps().iter().map(|step| &step.id);
        names.zip(&self.fates)
    }

    /// What becomes of a step.
    pub fn fate(&self, step: &Name) -> Option<&Fate> {
        let ix = self.now.find(step.as_str())?;
        self.fates.get(ix.at())
    }

    /// Whether the run succeeded, and nothing of it is to be done again.
    pub fn is_done(&self) -> bool {
        let rests = |fate: &Fate| matches!(fate, Fate::Kept | Fate::Settled);
        let same = |before: &Arc<Plan>| same_whole(before, &self.now);
        self.succeeded
            && self.changed.is_empty()
            && self.fates.iter().all(rests)
            && self.before.as_ref().is_some_and(same)
    }

    /// The results that are taken over, in plan order.
    pub fn kept(&self) -> Vec<Kept> {
        let Some(run) = &self.run else {
            return Vec::new();
        };
        let mut kept = Vec::new();
        for (step, fate) in self.fates() {
            match fate {
                Fate::Kept => kept.extend(self.rows.step(step).map(|row| taken_over(row, run))),
                Fate::Again(Again { kept: keys, .. }) => {
                    let items = self.rows.items(step).iter();
                    let own = items.filter(|row| {
                        let key = row.item_key.as_ref();
                        key.is_some_and(|key| keys.contains(key))
                    });
                    kept.extend(own.map(|row| taken_over(row, run)));
                }
                Fate::Settled | Fate::Left => {}
            }
        }
        kept
    }

    /// The results that are taken over, each item by itself, in plan order.
    pub fn results(&self) -> Vec<Kept> {
        let Some(run) = &self.run else {
            return Vec::new();
        };
        let whole = self.kept().into_iter();
        let each = whole.flat_map(|kept| match (&kept.item, self.rows.items(&kept.step)) {
            (None, items @ [_, ..]) => {
                let good = items.iter().filter(|row| row.state == StepState::Succeeded);
                good.map(|row| taken_over(row, run)).collect()
            }
            _ => vec![kept],
        });
        each.collect()
    }

    /// What is left out by choice, in plan order.
    pub fn left(&self) -> Vec<Left> {
        let left = self.fates().filter_map(|(step, fate)| {
            let but = match fate {
                Fate::Left => Vec::new(),
                Fate::Again(Again { but: Some(but), .. }) => but.clone(),
                _ => return None,
            };
            let step = step.clone();
            Some(Left { step, but })
        });
        left.collect()
    }

    /// The items of a step that run again as far as is known: keys, or none if it is not
    /// repeated.
    pub fn repeated_items(&self, step: &Name) -> Vec<Option<String>> {
        let items = self.rows.items(step);
        let Some(Fate::Again(again)) = self.fate(step) else {
            return Vec::new();
        };
        if items.is_empty() {
            return vec![None];
        }
        let keys = items.iter().filter_map(|row| row.item_key.clone());
        let open = |key: &String| {
            let chosen = again.but.as_ref().is_none_or(|but| but.contains(key));
            chosen && !again.kept.contains(key)
        };
        keys.filter(open).map(Some).collect()
    }

    /// Whether what succeeded in the run nested in a place is kept.
    fn keeps_inside(&self, step: &Name, key: Option<&str>) -> bool {
        let inside = matches!(
            self.fate(step),
            Some(Fate::Again(Again { inside: true, .. }))
        );
        inside && key.is_none_or(|key| !self.choice.items(step).contains(key))
    }

    /// The parameters of a nested plan that read something that changed.
    fn unsure(&self, uses: &Uses) -> BTreeSet<Name> {
        let reads = |reads: &Reads<'_>| {
            let mut changed = self.changed.iter();
            changed.any(|name| reads.reading(name) == Reading::Yes)
        };
        let with = uses.with.iter();
        with.filter(|(_, value)| reads(&Reads::of_template(value)))
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// The plan that a step uses.
fn uses<'a>(plan: &'a Plan, step: &Name) -> Option<&'a Uses> {
    let ix = plan.find(step.as_str())?;
    match &plan.step(ix).work {
        Work::Uses(uses) => Some(uses),
        _ => None,
    }
}

/// What was chosen when a run began, if it repeats another and is still known.
fn recorded_choice(reader: &Reader, run: &RunId) -> Result<Choice, StoreError> {
    match reader.config(run) {
        Ok(config) => Ok(Choice::recorded(&config)),
        Err(StoreError::UnknownRun(_)) => Ok(Choice::default()),
        Err(error) => Err(error),
    }
}

/// A run, unless it was forgotten.
fn known(reader: &Reader, run: &RunId) -> Result<Option<RunRow>, StoreError> {
    match reader.run(run) {
        Ok(row) => Ok(Some(row)),
        Err(StoreError::UnknownRun(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names whose values differ.
fn differing(then: &Object, now: &Object) -> BTreeSet<Name> {
    let names = then.keys().chain(now.keys());
    names
        .filter(|name| then.get(*name) != now.get(*name))
        .filter_map(|name| Name::parse(name).ok())
        .collect()
}

fn succeeded(row: &RunRow) -> bool {
    row.state == RunState::Ended(crate::machine::Outcome::Succeeded)
}

/// Whether all went well but perhaps a `finally` step.
fn was_good(row: &RunRow, before: &Plan) -> bool {
    let last = |name: &Name| {
        let ix = before.find(name.as_str());
        ix.is_some_and(|ix| before.is_finally(ix))
    };
    let cancelled = row.state == RunState::Ended(crate::machine::Outcome::Cancelled);
    succeeded(row) || !cancelled && row.failed.as_ref().is_some_and(last)
}
