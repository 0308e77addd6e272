use std::{collections::BTreeMap, sync::Arc};

use super::{OutputProducer, PlanFlow, StepFlow, TaintSummary};
use crate::{
    expr::{ExprReference, Template},
    plans::{
        plan::Plan,
        step::{Step, StepRepetition},
        work::{StepWork, WaitCondition},
    },
};

/// The summaries of plans and of all plans they use, each analysed once. Plans are told apart
/// by address, so they outlive it.
#[derive(Debug, Default)]
pub struct TaintAnalysis(BTreeMap<usize, Arc<TaintSummary>>);

/// Follows the values of a plan and of all it uses.
pub fn taints(plan: &Plan) -> Arc<TaintSummary> {
    TaintAnalysis::default().summary_of(plan)
}

impl TaintAnalysis {
    /// Follows the values of a plan.
    pub fn summary_of(&mut self, plan: &Plan) -> Arc<TaintSummary> {
        summarize(plan, self)
    }
}

fn summarize(plan: &Plan, analysis: &mut TaintAnalysis) -> Arc<TaintSummary> {
    let place = std::ptr::from_ref(plan).addr();
    if let Some(done) = analysis.0.get(&place) {
        return Arc::clone(done);
    }
    let parts = plan.parts();
    let main: Vec<_> = plan.order();
    let mut steps = Vec::with_capacity(main.len());
    for own in main.iter().map(|ix| plan.step(*ix)) {
        // All alternatives: the one that will run is not known.
        steps.extend(own.ways().map(|way| step(way, plan, analysis)));
    }
    let flow = PlanFlow {
        steps,
        params: (parts.params.iter()).map(|param| (param.name.to_string(), param.taint)).collect(),
        outputs: (parts.outputs.iter())
            .map(|output| (output.name.to_string(), reads([&output.value])))
            .collect(),
    };
    let summary = Arc::new(TaintSummary::from_flow(&flow));
    analysis.0.insert(place, Arc::clone(&summary));
    summary
}

fn step(step: &Step, plan: &Plan, analysis: &mut TaintAnalysis) -> StepFlow {
    let each = match &step.fan {
        StepRepetition::Each(list) => list.refs().iter().map(|read| read.name.clone()).collect(),
        StepRepetition::Once | StepRepetition::List(_) | StepRepetition::Matrix(_) => Vec::new(),
    };
    let variables = plan.parts().env.iter().chain(&step.env);
    let mut inputs = reads(variables.map(|variable| &variable.value));
    let producer = match &step.work {
        StepWork::Run(_) => process(step),
        StepWork::Exec(argv) => {
            inputs.extend(reads(argv));
            process(step)
        }
        StepWork::Skill(call) => {
            inputs.extend(reads(call.templates()));
            process(step)
        }
        StepWork::Agent(work) => {
            inputs.extend(reads(step.work.templates()));
            let mut children = step.work.plans_used().into_iter();
            let is_exposed =
                work.reads_outside() || children.any(|plan| summarize(plan, analysis).has_external_outputs());
            if is_exposed { OutputProducer::ExposedAgent } else { process(step) }
        }
        StepWork::Http(request) => {
            inputs.extend(reads([&request.url]));
            inputs.extend(reads(request.headers.iter().map(|(_, value)| value)));
            inputs.extend(reads(&request.body));
            OutputProducer::Request
        }
        StepWork::Uses(uses) => {
            let with = uses.with.iter();
            OutputProducer::Nested {
                path: uses.path.clone(),
                summary: summarize(&uses.plan, analysis),
                with: with.map(|(name, value)| (name.to_string(), reads([value]))).collect(),
            }
        }
        StepWork::Generated(made) => {
            inputs.extend(reads(step.work.templates()));
            OutputProducer::Confined { net: made.envelope.reaches_outside() }
        }
        StepWork::Wait(WaitCondition::File(path)) => {
            inputs.extend(reads([path]));
            OutputProducer::Nothing
        }
        StepWork::Wait(WaitCondition::For(_) | WaitCondition::Until(_)) => OutputProducer::Nothing,
        StepWork::Approve(decision) => {
            inputs.extend(reads(decision.covered()));
            OutputProducer::Decided
        }
    };
    StepFlow {
        id: step.id.to_string(),
        each,
        reads: inputs,
        producer,
        external: step.external.iter().map(ToString::to_string).collect(),
    }
}

fn process(step: &Step) -> OutputProducer {
    match &step.allow {
        Some(allow) => OutputProducer::Confined { net: allow.net },
        None => OutputProducer::Free,
    }
}

fn reads<'t>(templates: impl IntoIterator<Item = &'t Template>) -> Vec<ExprReference> {
    let refs = templates.into_iter().flat_map(Template::refs);
    refs.map(|read| read.name.clone()).collect()
}
