//! What becomes of each step. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::meaning::{Same, compare};
use super::reads::{Reading, Reads};
use super::rows::Rows;
use super::{Again, Choice, Fate, Reason};
use crate::expr::{Expr, Ref, StatusTest};
use crate::machine::StepState;
use crate::model::{Fan, Plan, Step, StepIx, Work};
use crate::name::Name;
use crate::store::StepRow;

/// What is decided by.
pub(super) struct Scene<'a> {
    pub(super) before: Option<&'a Plan>,
    pub(super) now: &'a Plan,
    pub(super) choice: &'a Choice,
    /// Whether the repeated run left something out by choice: what it skipped is not done.
    pub(super) narrow: bool,
    /// The steps and items inside of which it left something out.
    pub(super) partial: &'a BTreeSet<(Name, Option<String>)>,
    /// The parameters that have other values now.
    pub(super) changed: &'a BTreeSet<Name>,
    pub(super) rows: &'a Rows,
    /// The results that are not what they were: steps, or items of them, and the differences.
    pub(super) dropped: &'a BTreeMap<(Name, Option<String>), String>,
    /// Whether all went well but perhaps a `finally` step.
    pub(super) good: bool,
}

/// What becomes of each step of the plan, in its order.
pub(super) fn fates(scene: &Scene<'_>) -> Vec<Fate> {
    let mut decision = Decision {
        scene,
        main_good: scene.main_good(),
        forced: scene.forced(),
        gone: BTreeSet::new(),
        fates: vec![Fate::Settled; scene.now.steps().len()],
    };
    for ix in scene.now.order() {
        let fate = decision.fate(ix);
        if let Some(slot) = decision.fates.get_mut(ix.at()) {
            *slot = fate;
        }
    }
    decision.ask_anew();
    decision.fates
}

impl Scene<'_> {
    /// Whether no main step kept the others from going on.
    fn main_good(&self) -> bool {
        self.before.is_some_and(|before| {
            let mut main = before.steps().iter().take(before.parts().main);
            main.all(|step| {
                let row = self.rows.step(&step.id);
                row.is_some_and(|row| self.went_on(row))
            })
        })
    }

    /// The way in which the result of a step, or of the first such item of it, is not what it was.
    fn dropped(&self, step: &Name) -> Option<String> {
        let own = |((name, _), _): &(&(Name, Option<String>), &String)| name == step;
        let ((_, item), why) = self.dropped.iter().find(own)?;
        Some(match item {
            Some(key) => format!("item `{key}`: {why}"),
            None => why.clone(),
        })
    }

    /// Whether a recorded step let its run go on, by the rules and not by choice.
    fn went_on(&self, row: &StepRow) -> bool {
        match row.state {
            StepState::Succeeded => true,
            StepState::Skipped => !self.narrow,
            StepState::Failed => row.tolerated,
            _ => false,
        }
    }

    /// The steps that run again because what they depend on was chosen with all that follows it;
    /// for each the step that it depends on.
    fn forced(&self) -> Vec<Option<StepIx>> {
        let mut forced = vec![None; self.now.steps().len()];
        let roots = self.choice.roots();
        let mut next: Vec<StepIx> = roots
            .filter_map(|name| self.now.find(name.as_str()))
            .collect();
        while let Some(ix) = next.pop() {
            for dependent in self.now.dependents(ix) {
                if let Some(slot @ None) = forced.get_mut(dependent.at()) {
                    *slot = Some(ix);
                    next.push(*dependent);
                }
            }
        }
        forced
    }
}

struct Decision<'a> {
    scene: &'a Scene<'a>,
    main_good: bool,
    forced: Vec<Option<StepIx>>,
    /// The steps that are left out although their results are not what they were.
    gone: BTreeSet<usize>,
    fates: Vec<Fate>,
}

impl Decision<'_> {
    fn fate(&mut self, ix: StepIx) -> Fate {
        let scene = self.scene;
        let step = scene.now.step(ix);
        let again = |why| again(why, false);
        if self.scene.choice.whole(&step.id) {
            return again(Reason::Chosen);
        }
        if let Some(Some(needed)) = self.forced.get(ix.at()) {
            return again(Reason::After(self.name(*needed)));
        }
        if self.scene.now.is_finally(ix) && self.main_runs() {
            return again(Reason::Finally);
        }
        let same = self
            .scene
            .before
            .map(|before| compare(before, self.scene.now, step));
        let Some(same) = same.flatten() else {
            return if self.scene.choice.narrow {
                Fate::Left
            } else {
                again(Reason::New)
            };
        };
        match self.why(ix, step, same) {
            None => self.rests(step),
            Some(why) if self.is_left(step) => {
                if matches!(why, Reason::Differs(_)) {
                    self.gone.insert(ix.at());
                }
                Fate::Left
            }
            Some(why) => Fate::Again(self.part(step, same, why)),
        }
    }

    /// Why a step runs again, if it does.
    fn why(&self, ix: StepIx, step: &Step, same: Same) -> Option<Reason> {
        let choice = self.scene.choice;
        let grounds = if choice.narrow {
            None
        } else {
            self.ground(step)
        };
        if !same.around {
            return Some(Reason::Changed);
        }
        if let Some(reason) = self.param(step, true) {
            return Some(reason);
        }
        if let Some(needed) = grounds {
            return Some(Reason::After(self.name(needed)));
        }
        if !choice.items(&step.id).is_empty() {
            return Some(Reason::Chosen);
        }
        if !same.whole || !choice.through(&step.id).is_empty() {
            return Some(Reason::Inside);
        }
        let asks = step.when.as_deref().is_some_and(asks_all);
        let settled = if self.scene.now.is_finally(ix) {
            self.scene.good
        } else {
            self.main_good
        };
        let row = self.scene.rows.step(&step.id);
        match row.map(|row| row.state) {
            Some(StepState::Succeeded) if asks && !settled => Some(Reason::Asks),
            Some(StepState::Succeeded)
                if self
                    .scene
                    .partial
                    .iter()
                    .any(|(partial, _)| *partial == step.id) =>
            {
                Some(Reason::Inside)
            }
            Some(StepState::Succeeded) => self.differs(step),
            Some(StepState::Skipped) if settled && !choice.narrow => None,
            state => Some(Reason::Ended(state)),
        }
    }

    /// The way in which the result of a step that succeeded is not what it was, or in which one that
    /// it depends on is not and does not run again.
    fn differs(&self, step: &Step) -> Option<Reason> {
        if let Some(why) = self.scene.dropped(&step.id) {
            return Some(Reason::Differs(why));
        }
        let bad = |ix: &&StepIx| {
            let left = matches!(self.fates.get(ix.at()), Some(Fate::Left));
            left && self.gone.contains(&ix.at())
        };
        let bad = step.depends_on.iter().find(bad)?;
        Some(Reason::Differs(format!(
            "it depends on `{}`, whose result cannot be kept",
            self.name(*bad)
        )))
    }

    fn rests(&self, step: &Step) -> Fate {
        if self.scene.rows.succeeded(&step.id) {
            Fate::Kept
        } else {
            Fate::Settled
        }
    }

    /// Whether a step that would run again is left out, since something else was chosen.
    fn is_left(&self, step: &Step) -> bool {
        let choice = self.scene.choice;
        let chosen = !choice.items(&step.id).is_empty() || !choice.through(&step.id).is_empty();
        choice.narrow && !chosen
    }

    /// How a step runs again of which a part may be kept.
    fn part(&self, step: &Step, same: Same, why: Reason) -> Again {
        let grounded = self.scene.choice.narrow || self.ground(step).is_none();
        let uses = matches!(step.work, Work::Uses(_));
        let items = grounded && same.item && self.param(step, false).is_none();
        Again {
            inside: uses && grounded && same.around,
            kept: if items { self.items(step) } else { Vec::new() },
            but: self.but(step),
            why,
        }
    }

    /// The items of a step that succeeded and were not chosen.
    fn items(&self, step: &Step) -> Vec<String> {
        let (whole, through) = (
            self.scene.choice.items(&step.id),
            self.scene.choice.through(&step.id),
        );
        let rows = self.scene.rows.items(&step.id).iter();
        let good = rows.filter(|row| row.state == StepState::Succeeded);
        let keys = good.filter_map(|row| row.item_key.clone());
        keys.filter(|key| {
            let through = through.contains(&None) || through.contains(&Some(key.as_str()));
            let partial = self
                .scene
                .partial
                .contains(&(step.id.clone(), Some(key.clone())));
            let dropped = (self.scene.dropped).contains_key(&(step.id.clone(), Some(key.clone())));
            !through && !partial && !dropped && !whole.contains(key.as_str())
        })
        .collect()
    }

    /// The only items that run, if only some were chosen.
    fn but(&self, step: &Step) -> Option<Vec<String>> {
        let choice = self.scene.choice;
        let through = choice.through(&step.id);
        let repeated = !matches!(step.fan, Fan::Once);
        if !choice.narrow || !repeated || through.contains(&None) {
            return None;
        }
        let inner = through.into_iter().flatten();
        let chosen: BTreeSet<&str> = inner.chain(choice.items(&step.id)).collect();
        Some(chosen.into_iter().map(str::to_owned).collect())
    }

    /// Why a parameter that changed makes a step run again; without `list`, one of its items.
    fn param(&self, step: &Step, list: bool) -> Option<Reason> {
        let reads = Reads::of_step(self.scene.now, step, list);
        let mut maybe = None;
        for name in self.scene.changed {
            match reads.reading(name) {
                Reading::Yes => return Some(Reason::Param(name.clone())),
                Reading::Maybe => maybe = Some(name),
                Reading::No => {}
            }
        }
        maybe.cloned().map(Reason::MayRead)
    }

    /// The first dependency of a step that does not rest.
    fn ground(&self, step: &Step) -> Option<StepIx> {
        let rests = |ix: &&StepIx| {
            let fate = self.fates.get(ix.at());
            !matches!(fate, Some(Fate::Kept | Fate::Settled))
        };
        step.depends_on.iter().find(rests).copied()
    }

    /// A decision of people is for one run: where a step runs again that waited for it, they are
    /// asked anew, since what they agreed to may be something else by now.
    fn ask_anew(&mut self) {
        for ix in self.scene.now.order().into_iter().rev() {
            let kept = matches!(self.fates.get(ix.at()), Some(Fate::Kept));
            if !kept || !matches!(self.scene.now.step(ix).work, Work::Approve(_)) {
                continue;
            }
            let runs = |next: &&StepIx| matches!(self.fates.get(next.at()), Some(Fate::Again(_)));
            let behind = self.scene.now.dependents(ix).iter().find(runs).copied();
            let why = behind.map(|next| again(Reason::Decides(self.name(next)), false));
            if let (Some(fate), Some(why)) = (self.fates.get_mut(ix.at()), why) {
                *fate = why;
            }
        }
    }

    fn main_runs(&self) -> bool {
        let mut main = self.fates.iter().take(self.scene.now.parts().main);
        main.any(|fate| matches!(fate, Fate::Again(_)))
    }

    fn name(&self, ix: StepIx) -> Name {
        self.scene.now.step(ix).id.clone()
    }
}

fn again(why: Reason, inside: bool) -> Fate {
    Fate::Again(Again {
        why,
        inside,
        kept: Vec::new(),
        but: None,
    })
}

/// Whether a condition asks how all steps so far ended.
fn asks_all(when: &Expr) -> bool {
    let asks = |name: &Ref| matches!(name, Ref::Test(test, None) if *test != StatusTest::Always);
    when.refs().iter().any(|read| asks(&read.name))
}
