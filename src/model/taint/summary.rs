use std::collections::BTreeMap;

use super::{Flow, Made, Mixed, StepFlow, Taint};
use crate::expr::Ref;

/// How far the values of a plan are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The parameters.
    pub params: BTreeMap<String, Mixed>,
    /// The steps.
    pub steps: BTreeMap<String, StepTaint>,
    /// What the plan gives.
    pub outputs: BTreeMap<String, Mixed>,
}

/// How far the values of a step are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTaint {
    /// The item, where it is repeated.
    pub item: Mixed,
    /// What its work is given, all together.
    pub given: Mixed,
    /// What it gives: its outputs and its files.
    pub made: Mixed,
    /// The outputs that are trusted otherwise.
    pub outputs: BTreeMap<String, Mixed>,
}

impl Summary {
    /// Follows the values of a plan. Takes time in the size of the plan.
    pub fn of(flow: &Flow) -> Self {
        let params = flow.params.iter();
        let mut summary = Self {
            params: params
                .map(|(name, taint)| (name.clone(), Mixed::param(name, *taint)))
                .collect(),
            ..Self::default()
        };
        let all = Mixed::all(summary.params.values());
        for step in &flow.steps {
            let taint = summary.step(step, &all);
            match summary.steps.get_mut(&step.id) {
                Some(before) => before.or(&taint),
                None => drop(summary.steps.insert(step.id.clone(), taint)),
            }
        }
        for (name, reads) in &flow.outputs {
            let value = summary.mixture(None, reads);
            summary.outputs.insert(name.clone(), value);
        }
        summary
    }

    /// How far a name is trusted where a step reads it, or the plan itself.
    pub fn value(&self, step: Option<&StepTaint>, name: &Ref) -> Mixed {
        match name {
            Ref::Param(name) => self.params.get(name).cloned().unwrap_or_default(),
            Ref::Output { step, output } => {
                let step = self.steps.get(step);
                let own = |step: &StepTaint| step.output(output).clone();
                step.map(own).unwrap_or_default()
            }
            Ref::Item | Ref::ItemKey => step.map(|step| step.item.clone()).unwrap_or_default(),
            Ref::StepStatus(_)
            | Ref::Secret(_)
            | Ref::ItemIndex
            | Ref::Matrix(_)
            | Ref::RunId
            | Ref::Test(..) => Mixed::default(),
        }
    }

    fn mixture(&self, step: Option<&StepTaint>, reads: &[Ref]) -> Mixed {
        let mut mixed = Mixed::default();
        for name in reads {
            mixed.mix(&self.value(step, name));
        }
        mixed
    }

    fn step(&self, step: &StepFlow, params: &Mixed) -> StepTaint {
        let mut taint = StepTaint {
            item: self.mixture(None, &step.each),
            ..StepTaint::default()
        };
        taint.given = self.mixture(Some(&taint), &step.reads);
        let id = &step.id;
        match &step.made {
            Made::Request => {
                taint.made = Mixed::of(Taint::External, &format!("the http step `{id}`"));
            }
            Made::Free => {
                taint.process(params);
                let from = format!("step `{id}`, which runs without a sandbox, so with a network");
                taint.made.mix(&Mixed::of(Taint::External, &from));
            }
            Made::Confined { net } => {
                taint.process(params);
                if *net {
                    let from = format!("step `{id}`, which has a network");
                    taint.made.mix(&Mixed::of(Taint::External, &from));
                }
            }
            Made::Nested {
                path,
                summary: Some(used),
                with,
            } => {
                let given = with.iter();
                let given = given
                    .map(|(name, reads)| (name.clone(), self.mixture(Some(&taint), reads)))
                    .collect();
                let outputs = used.outputs.iter();
                taint.outputs = outputs
                    .map(|(name, value)| (name.clone(), value.seen(path, &given)))
                    .collect();
                let files = used.steps.values().map(|step| step.made.seen(path, &given));
                files.for_each(|files| taint.made.mix(&files));
            }
            Made::Nested { summary: None, .. } => taint.made.mix(&taint.given.clone()),
            Made::Decided | Made::Nothing => {}
        }
        for name in &step.external {
            let from = format!("output `{name}` of step `{id}`, which is declared to be external");
            let mut own = Mixed::of(Taint::External, &from);
            own.mix(&taint.made);
            taint.outputs.insert(name.clone(), own);
        }
        taint
    }
}

impl StepTaint {
    /// How far an output is trusted.
    pub fn output(&self, name: &str) -> &Mixed {
        self.outputs.get(name).unwrap_or(&self.made)
    }

    /// What it is if it may be done in another way, too.
    fn or(&mut self, other: &Self) {
        let names = self.outputs.keys().chain(other.outputs.keys());
        let both = names.map(|name| {
            let both = Mixed::all([self.output(name), other.output(name)]);
            (name.clone(), both)
        });
        self.outputs = both.collect();
        self.item.mix(&other.item);
        self.given.mix(&other.given);
        self.made.mix(&other.made);
    }

    /// A program makes what it gives of all that it is given, and every parameter is.
    fn process(&mut self, params: &Mixed) {
        self.given.mix(&self.item.clone());
        self.given.mix(params);
        self.made = self.given.clone();
    }
}
