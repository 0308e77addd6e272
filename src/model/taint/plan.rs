use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Flow, Made, StepFlow, Summary};
use crate::expr::{Expr, Ref, Template};
use crate::model::{Fan, Plan, Step, Wait, Work};

/// What follows from plans and from all that they use, each looked at once. Plans are told apart
/// by where they are, so they outlive it.
#[derive(Debug, Default)]
pub struct Taints(BTreeMap<usize, Arc<Summary>>);

/// Follows the values of a plan and of all that it uses.
pub fn taints(plan: &Plan) -> Arc<Summary> {
    Taints::default().of(plan)
}

impl Taints {
    /// Follows the values of a plan.
    pub fn of(&mut self, plan: &Plan) -> Arc<Summary> {
        follow(plan, self)
    }
}

fn follow(plan: &Plan, known: &mut Taints) -> Arc<Summary> {
    let place = std::ptr::from_ref(plan).addr();
    if let Some(done) = known.0.get(&place) {
        return Arc::clone(done);
    }
    let parts = plan.parts();
    let main: Vec<_> = plan.order();
    let mut steps = Vec::with_capacity(main.len());
    for own in main.iter().map(|ix| plan.step(*ix)) {
        // Whatever way it is done in, nobody knows which.
        let ways = (0..own.ways()).filter_map(|way| own.way(way));
        steps.extend(ways.map(|way| step(way, plan, known)));
    }
    let flow = Flow {
        steps,
        params: (parts.params.iter())
            .map(|param| (param.name.to_string(), param.taint))
            .collect(),
        outputs: (parts.outputs.iter())
            .map(|output| (output.name.to_string(), reads([&output.value])))
            .collect(),
    };
    let summary = Arc::new(Summary::of(&flow));
    known.0.insert(place, Arc::clone(&summary));
    summary
}

fn step(step: &Step, plan: &Plan, known: &mut Taints) -> StepFlow {
    let each = match &step.fan {
        Fan::Each(list) => of(list),
        Fan::Once | Fan::List(_) | Fan::Matrix(_) => Vec::new(),
    };
    let variables = plan.parts().env.iter().chain(&step.env);
    let mut given = reads(variables.map(|variable| &variable.value));
    let made = match &step.work {
        Work::Run(_) => process(step),
        Work::Exec(argv) => {
            given.extend(reads(argv));
            process(step)
        }
        Work::Skill(call) => {
            given.extend(reads(call.templates()));
            process(step)
        }
        Work::Http(request) => {
            given.extend(reads([&request.url]));
            given.extend(reads(request.headers.iter().map(|(_, value)| value)));
            given.extend(reads(&request.body));
            Made::Request
        }
        Work::Uses(uses) => {
            let with = uses.with.iter();
            Made::Nested {
                path: uses.path.clone(),
                summary: Some(follow(&uses.plan, known)),
                with: with
                    .map(|(name, value)| (name.to_string(), reads([value])))
                    .collect(),
            }
        }
        Work::Wait(Wait::File(path)) => {
            given.extend(reads([path]));
            Made::Nothing
        }
        Work::Wait(Wait::For(_) | Wait::Until(_)) => Made::Nothing,
        Work::Approve(decision) => {
            given.extend(reads(decision.show.iter().map(|(_, value)| value)));
            Made::Decided
        }
    };
    StepFlow {
        id: step.id.to_string(),
        each,
        reads: given,
        made,
        external: step.external.iter().map(ToString::to_string).collect(),
    }
}

fn process(step: &Step) -> Made {
    match &step.allow {
        Some(allow) => Made::Confined { net: allow.net },
        None => Made::Free,
    }
}

fn reads<'t>(templates: impl IntoIterator<Item = &'t Template>) -> Vec<Ref> {
    let refs = templates.into_iter().flat_map(Template::refs);
    refs.map(|read| read.name.clone()).collect()
}

fn of(list: &Expr) -> Vec<Ref> {
    list.refs().iter().map(|read| read.name.clone()).collect()
}
