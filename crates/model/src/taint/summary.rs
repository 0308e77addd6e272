use std::collections::BTreeMap;

use super::{MixedTaint, OutputProducer, PlanFlow, StepFlow, TaintLevel};
use crate::expr::{BlockField, ExprReference};

/// The trust in the values of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaintSummary {
    pub params: BTreeMap<String, MixedTaint>,
    pub steps: BTreeMap<String, StepTaint>,
    /// The outputs of the plan.
    pub outputs: BTreeMap<String, MixedTaint>,
}

/// The trust in the values of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepTaint {
    /// The item, if the step is repeated.
    pub item_taint: MixedTaint,
    /// The inputs of its work, mixed.
    pub inputs_taint: MixedTaint,
    /// Its outputs and its files.
    pub outputs_taint: MixedTaint,
    /// The outputs whose trust differs.
    pub outputs: BTreeMap<String, MixedTaint>,
}

impl TaintSummary {
    /// Follows the values of a plan. Takes time in the size of the plan.
    pub fn from_flow(flow: &PlanFlow) -> Self {
        let params = flow.params.iter();
        let mut summary = Self {
            params: params.map(|(name, taint)| (name.clone(), MixedTaint::param(name, *taint))).collect(),
            ..Self::default()
        };
        let mixed_taint = MixedTaint::mix_all(summary.params.values());
        for step in &flow.steps {
            let taint = summary.step(step, &mixed_taint);
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

    /// True if an output of the plan is from outside.
    pub fn has_external_outputs(&self) -> bool {
        self.outputs.values().any(|output| output.taint == TaintLevel::External)
    }

    /// Returns the trust in a name where a step or the plan itself reads it.
    pub fn value(&self, step: Option<&StepTaint>, reference: &ExprReference) -> MixedTaint {
        match reference {
            ExprReference::Param(name) => self.params.get(name).cloned().unwrap_or_default(),
            ExprReference::Output { step, output } => {
                let step = self.steps.get(step);
                let own = |step: &StepTaint| step.output(output).clone();
                step.map(own).unwrap_or_default()
            }
            ExprReference::Item | ExprReference::ItemKey => {
                step.map(|step| step.item_taint.clone()).unwrap_or_default()
            }
            ExprReference::Block(BlockField::Reason) => {
                MixedTaint::from_level(TaintLevel::External, "the reason of a block")
            }
            ExprReference::Block(_)
            | ExprReference::StepStatus(_)
            | ExprReference::Secret(_)
            | ExprReference::ItemIndex
            | ExprReference::Matrix(_)
            | ExprReference::RunId
            | ExprReference::RunDispatch
            | ExprReference::Test(..) => MixedTaint::default(),
        }
    }

    fn mixture(&self, step: Option<&StepTaint>, reads: &[ExprReference]) -> MixedTaint {
        let mut mixed = MixedTaint::default();
        for name in reads {
            mixed.mix_in(&self.value(step, name));
        }
        mixed
    }

    fn step(&self, step: &StepFlow, param_taint: &MixedTaint) -> StepTaint {
        let mut taint = StepTaint { item_taint: self.mixture(None, &step.each), ..StepTaint::default() };
        taint.inputs_taint = self.mixture(Some(&taint), &step.reads);
        let id = &step.id;
        match &step.producer {
            OutputProducer::Request => {
                taint.outputs_taint =
                    MixedTaint::from_level(TaintLevel::External, &format!("the http step `{id}`"));
            }
            OutputProducer::Free => {
                taint.process(param_taint);
                let from = format!(
                    "step `{id}`, which runs without a sandbox, and so with network \
                                    access"
                );
                taint.outputs_taint.mix_in(&MixedTaint::from_level(TaintLevel::External, &from));
            }
            OutputProducer::Confined { net } => {
                taint.process(param_taint);
                if *net {
                    let from = format!("step `{id}`, which has network access");
                    taint.outputs_taint.mix_in(&MixedTaint::from_level(TaintLevel::External, &from));
                }
            }
            OutputProducer::ExposedAgent => {
                taint.process(param_taint);
                let from = format!("step `{id}`, whose agent reads untrusted text");
                taint.outputs_taint.mix_in(&MixedTaint::from_level(TaintLevel::External, &from));
            }
            OutputProducer::Nested { path, summary, with } => {
                let with = with.iter();
                let params =
                    with.map(|(name, reads)| (name.clone(), self.mixture(Some(&taint), reads))).collect();
                let outputs = summary.outputs.iter();
                taint.outputs = outputs
                    .map(|(name, value)| (name.clone(), value.from_nested_plan(path, &params)))
                    .collect();
                let files =
                    summary.steps.values().map(|step| step.outputs_taint.from_nested_plan(path, &params));
                files.for_each(|files| taint.outputs_taint.mix_in(&files));
            }
            OutputProducer::Decided | OutputProducer::Nothing => {}
        }
        for name in &step.external {
            let from = format!("output `{name}` of step `{id}`, which is declared external");
            let mut own = MixedTaint::from_level(TaintLevel::External, &from);
            own.mix_in(&taint.outputs_taint);
            taint.outputs.insert(name.clone(), own);
        }
        taint
    }
}

impl StepTaint {
    /// Returns the trust in an output.
    pub fn output(&self, name: &str) -> &MixedTaint {
        self.outputs.get(name).unwrap_or(&self.outputs_taint)
    }

    /// Mixes in the result of an alternative.
    fn or(&mut self, other: &Self) {
        let names = self.outputs.keys().chain(other.outputs.keys());
        let both = names.map(|name| {
            let both = MixedTaint::mix_all([self.output(name), other.output(name)]);
            (name.clone(), both)
        });
        self.outputs = both.collect();
        self.item_taint.mix_in(&other.item_taint);
        self.inputs_taint.mix_in(&other.inputs_taint);
        self.outputs_taint.mix_in(&other.outputs_taint);
    }

    /// Mixes the outputs of a program from all its inputs, which include every parameter.
    fn process(&mut self, param_taint: &MixedTaint) {
        self.inputs_taint.mix_in(&self.item_taint.clone());
        self.inputs_taint.mix_in(param_taint);
        self.outputs_taint = self.inputs_taint.clone();
    }
}
