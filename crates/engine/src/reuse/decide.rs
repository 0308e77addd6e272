//! Decides the fate of each step. Pure.

use std::collections::{BTreeMap, BTreeSet};

use wf_base::name::Name;
use wf_core::machine::StepState;
use wf_model::{
    Plan, Step, StepIx, StepWork,
    definition::{StepEquality, compare},
    expr::{Expr, ExprReference, StatusFunction},
};
use wf_store::StepRow;

use super::{
    RepeatChoice, RerunReason, StepFate, StepRerun,
    reads::{ParamReadAnswer, ParamReaders},
    rows::RecordedSteps,
};

/// The facts that decide.
pub(super) struct RepeatContext<'a> {
    pub(super) earlier_plan: Option<&'a Plan>,
    pub(super) current_plan: &'a Plan,
    pub(super) choice: &'a RepeatChoice,
    /// True if the repeated run left something out by choice: a step it skipped is not done.
    pub(super) narrow: bool,
    /// The steps and items inside which it left something out.
    pub(super) partial: &'a BTreeSet<(Name, Option<String>)>,
    /// The parameters whose values changed.
    pub(super) changed: &'a BTreeSet<Name>,
    pub(super) steps: &'a RecordedSteps,
    /// The dropped results: steps, or items of them, and the differences.
    pub(super) dropped: &'a BTreeMap<(Name, Option<String>), String>,
    /// True if all went well except perhaps a `finally` step.
    pub(super) run_succeeded: bool,
}

/// Returns the fate of each step of the plan, in its order.
pub(super) fn fates(context: &RepeatContext<'_>) -> Vec<StepFate> {
    let mut decision = RepeatDecision {
        context,
        main_good: context.main_good(),
        forced: context.forced_by(),
        dropped_deselected: BTreeSet::new(),
        fates: vec![StepFate::Settled; context.current_plan.steps().len()],
    };
    for ix in context.current_plan.order() {
        let fate = decision.fate(ix);
        if let Some(slot) = decision.fates.get_mut(ix.index()) {
            *slot = fate;
        }
    }
    decision.renew_approvals();
    decision.fates
}

impl RepeatContext<'_> {
    /// True if every main step let the others go on.
    fn main_good(&self) -> bool {
        self.earlier_plan.is_some_and(|before| {
            let mut main = before.steps().iter().take(before.parts().main);
            main.all(|step| {
                let row = self.steps.step(&step.id);
                row.is_some_and(|row| self.let_run_continue(row))
            })
        })
    }

    /// Returns how the result of a step, or of its first dropped item, differs.
    fn result_difference(&self, step: &Name) -> Option<String> {
        let own = |((name, _), _): &(&(Name, Option<String>), &String)| name == step;
        let ((_, item), reason) = self.dropped.iter().find(own)?;
        Some(match item {
            Some(key) => format!("item `{key}`: {reason}"),
            None => reason.clone(),
        })
    }

    /// True if a recorded step let its run go on, by the rules and not by choice.
    fn let_run_continue(&self, row: &StepRow) -> bool {
        match row.state {
            StepState::Succeeded => true,
            StepState::Skipped => !self.narrow,
            StepState::Failed => row.allowed_to_fail,
            _ => false,
        }
    }

    /// Returns, for each step running again because a dependency was chosen with its dependants, that dependency.
    fn forced_by(&self) -> Vec<Option<StepIx>> {
        let mut forced = vec![None; self.current_plan.steps().len()];
        let roots = self.choice.downstream_roots();
        let mut next: Vec<StepIx> = roots.filter_map(|name| self.current_plan.find(name.as_str())).collect();
        while let Some(ix) = next.pop() {
            for dependent in self.current_plan.dependents(ix) {
                if let Some(slot @ None) = forced.get_mut(dependent.index()) {
                    *slot = Some(ix);
                    next.push(*dependent);
                }
            }
        }
        forced
    }
}

struct RepeatDecision<'a> {
    context: &'a RepeatContext<'a>,
    main_good: bool,
    forced: Vec<Option<StepIx>>,
    /// The steps left out although their results are dropped.
    dropped_deselected: BTreeSet<usize>,
    fates: Vec<StepFate>,
}

impl RepeatDecision<'_> {
    fn fate(&mut self, ix: StepIx) -> StepFate {
        let scene = self.context;
        let step = scene.current_plan.step(ix);
        let again = |reason| rerun(reason, false);
        if self.context.choice.is_whole_chosen(&step.id) {
            return again(RerunReason::Chosen);
        }
        // Its plan belongs to one block: another run has its own, or none.
        if step.on_escalation {
            return again(RerunReason::Finally);
        }
        if let Some(Some(needed)) = self.forced.get(ix.index()) {
            return again(RerunReason::DependencyRerun(self.name(*needed)));
        }
        if self.context.current_plan.is_finally(ix) && self.main_runs() {
            return again(RerunReason::Finally);
        }
        let same = self.context.earlier_plan.map(|before| compare(before, self.context.current_plan, step));
        let Some(same) = same.flatten() else {
            return if self.context.choice.narrow { StepFate::Deselected } else { again(RerunReason::New) };
        };
        match self.reason(ix, step, same) {
            None => self.fate_unselected(step),
            Some(reason) if self.is_deselected(step) => {
                if matches!(reason, RerunReason::ResultDiffers(_)) {
                    self.dropped_deselected.insert(ix.index());
                }
                StepFate::Deselected
            }
            Some(reason) => StepFate::Rerun(self.partial_rerun(step, same, reason)),
        }
    }

    /// Returns the reason why a step runs again, if it does.
    fn reason(&self, ix: StepIx, step: &Step, equality: StepEquality) -> Option<RerunReason> {
        let choice = self.context.choice;
        let grounds = if choice.narrow { None } else { self.rerun_dependency(step) };
        if !equality.except_nested_plan {
            return Some(RerunReason::Changed);
        }
        if let Some(reason) = self.param(step, true) {
            return Some(reason);
        }
        if let Some(needed) = grounds {
            return Some(RerunReason::DependencyRerun(self.name(needed)));
        }
        if !choice.items(&step.id).is_empty() {
            return Some(RerunReason::Chosen);
        }
        if !equality.whole_step || !choice.chosen_items(&step.id).is_empty() {
            return Some(RerunReason::NestedRerun);
        }
        let asks = step.when.as_deref().is_some_and(depends_on_all_outcomes);
        let settled = if self.context.current_plan.is_finally(ix) {
            self.context.run_succeeded
        } else {
            self.main_good
        };
        let row = self.context.steps.step(&step.id);
        match row.map(|row| row.state) {
            Some(StepState::Succeeded) if asks && !settled => Some(RerunReason::OutcomeCondition),
            Some(StepState::Succeeded)
                if self.context.partial.iter().any(|(partial, _)| *partial == step.id) =>
            {
                Some(RerunReason::NestedRerun)
            }
            Some(StepState::Succeeded) => self.difference_reason(step),
            Some(StepState::Skipped) if settled && !choice.narrow => None,
            state => Some(RerunReason::Ended(state)),
        }
    }

    /// Returns how the result of a step that succeeded differs, or that a dependency has a dropped result and
    /// does not run again.
    fn difference_reason(&self, step: &Step) -> Option<RerunReason> {
        if let Some(reason) = self.context.result_difference(&step.id) {
            return Some(RerunReason::ResultDiffers(reason));
        }
        let bad = |ix: &&StepIx| {
            let left = matches!(self.fates.get(ix.index()), Some(StepFate::Deselected));
            left && self.dropped_deselected.contains(&ix.index())
        };
        let bad = step.depends_on.iter().find(bad)?;
        Some(RerunReason::ResultDiffers(format!(
            "it depends on `{}`, whose result cannot be reused",
            self.name(*bad)
        )))
    }

    fn fate_unselected(&self, step: &Step) -> StepFate {
        if self.context.steps.succeeded(&step.id) { StepFate::Reused } else { StepFate::Settled }
    }

    /// True if a step that would run again is left out because something else was chosen.
    fn is_deselected(&self, step: &Step) -> bool {
        let choice = self.context.choice;
        let chosen = !choice.items(&step.id).is_empty() || !choice.chosen_items(&step.id).is_empty();
        choice.narrow && !chosen
    }

    /// Returns how a step runs again that may be reused in part.
    fn partial_rerun(&self, step: &Step, equality: StepEquality, reason: RerunReason) -> StepRerun {
        let grounded = self.context.choice.narrow || self.rerun_dependency(step).is_none();
        let uses = matches!(step.work, StepWork::Uses(_));
        let items = grounded && equality.each_item && self.param(step, false).is_none();
        StepRerun {
            reuses_nested: uses && grounded && equality.except_nested_plan,
            reused_items: if items { self.items(step) } else { Vec::new() },
            except_items: self.except_items(step),
            reason,
        }
    }

    /// Returns the items of a step that succeeded and were not chosen.
    fn items(&self, step: &Step) -> Vec<String> {
        let (whole, through) =
            (self.context.choice.items(&step.id), self.context.choice.chosen_items(&step.id));
        let rows = self.context.steps.items(&step.id).iter();
        let good = rows.filter(|row| row.state == StepState::Succeeded);
        let keys = good.filter_map(|row| row.item_key.clone());
        keys.filter(|key| {
            let through = through.contains(&None) || through.contains(&Some(key.as_str()));
            let partial = self.context.partial.contains(&(step.id.clone(), Some(key.clone())));
            let dropped = (self.context.dropped).contains_key(&(step.id.clone(), Some(key.clone())));
            !through && !partial && !dropped && !whole.contains(key.as_str())
        })
        .collect()
    }

    /// Returns the only items that run, if only some were chosen.
    fn except_items(&self, step: &Step) -> Option<Vec<String>> {
        let choice = self.context.choice;
        let through = choice.chosen_items(&step.id);
        let repeated = step.is_repeated();
        if !choice.narrow || !repeated || through.contains(&None) {
            return None;
        }
        let inner = through.into_iter().flatten();
        let chosen: BTreeSet<&str> = inner.chain(choice.items(&step.id)).collect();
        Some(chosen.into_iter().map(str::to_owned).collect())
    }

    /// Returns the reason why a changed parameter makes a step run again; without `list`, one of its items.
    fn param(&self, step: &Step, list: bool) -> Option<RerunReason> {
        let reads = ParamReaders::of_step(self.context.current_plan, step, list);
        let mut maybe = None;
        for name in self.context.changed {
            match reads.reading(name) {
                ParamReadAnswer::Yes => return Some(RerunReason::ParamChanged(name.clone())),
                ParamReadAnswer::Maybe => maybe = Some(name),
                ParamReadAnswer::No => {}
            }
        }
        maybe.cloned().map(RerunReason::MayReadParam)
    }

    /// Returns the first dependency of a step that is neither reused nor settled.
    fn rerun_dependency(&self, step: &Step) -> Option<StepIx> {
        let rests = |ix: &&StepIx| {
            let fate = self.fates.get(ix.index());
            !matches!(fate, Some(StepFate::Reused | StepFate::Settled))
        };
        step.depends_on.iter().find(rests).copied()
    }

    /// Asks approvers anew where a step runs again that waited for their approval: an approval is for one
    /// run, since the approved content may have changed.
    fn renew_approvals(&mut self) {
        for ix in self.context.current_plan.order().into_iter().rev() {
            let is_reused = matches!(self.fates.get(ix.index()), Some(StepFate::Reused));
            if !is_reused || !matches!(self.context.current_plan.step(ix).work, StepWork::Approve(_)) {
                continue;
            }
            let runs = |next: &&StepIx| matches!(self.fates.get(next.index()), Some(StepFate::Rerun(_)));
            let behind = self.context.current_plan.dependents(ix).iter().find(runs).copied();
            let reason = behind.map(|next| rerun(RerunReason::ApprovalRenewed(self.name(next)), false));
            if let (Some(fate), Some(reason)) = (self.fates.get_mut(ix.index()), reason) {
                *fate = reason;
            }
        }
    }

    fn main_runs(&self) -> bool {
        let mut main = self.fates.iter().take(self.context.current_plan.parts().main);
        main.any(|fate| matches!(fate, StepFate::Rerun(_)))
    }

    fn name(&self, ix: StepIx) -> Name {
        self.context.current_plan.step(ix).id.clone()
    }
}

fn rerun(reason: RerunReason, inside: bool) -> StepFate {
    StepFate::Rerun(StepRerun { reason, reuses_nested: inside, reused_items: Vec::new(), except_items: None })
}

/// True if a condition asks how all steps so far ended.
fn depends_on_all_outcomes(when: &Expr) -> bool {
    let asks = |reference: &ExprReference| matches!(reference, ExprReference::Test(test, None) if *test != StatusFunction::Always);
    when.refs().iter().any(|read| asks(&read.name))
}
