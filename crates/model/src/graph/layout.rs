use super::StepGraph;
use crate::plans::{plan::Plan, step::StepIx};

/// The number of times the layers are ordered from one end to the other and back.
const SWEEPS: usize = 4;

/// A plan as layers to draw, by any renderer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLayout {
    /// The steps of each layer, side by side. A layer needs only steps in layers before it; each
    /// `finally` step is a layer of its own, after the main steps.
    pub layers: Vec<Vec<StepIx>>,
    /// The edges from each step to those that need it.
    pub edges: Vec<(StepIx, StepIx)>,
}

/// Lays a plan out so few of its edges cross.
pub fn export(plan: &Plan) -> PlanLayout {
    let steps = plan.steps();
    let needs = steps.iter().map(|step| step.depends_on.iter().map(|ix| ix.index()).collect());
    let graph = StepGraph::new(needs.collect());
    let main = plan.parts().main.min(steps.len());
    let mut layers = main_layers(&graph, main);
    untangle(&graph, &mut layers);
    layers.extend((main..steps.len()).map(|step| vec![step]));
    let edges = (0..steps.len())
        .flat_map(|step| graph.needs(step).iter().map(move |needed| (index(*needed), index(step))));
    PlanLayout {
        edges: edges.collect(),
        layers: layers.into_iter().map(|layer| layer.into_iter().map(index).collect()).collect(),
    }
}

fn index(step: usize) -> StepIx {
    StepIx(u32::try_from(step).unwrap_or(u32::MAX))
}

fn main_layers(graph: &StepGraph, main: usize) -> Vec<Vec<usize>> {
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for (step, layer) in graph.layers().into_iter().enumerate().take(main) {
        if layers.len() <= layer {
            layers.resize(layer + 1, Vec::new());
        }
        layers[layer].push(step);
    }
    layers
}

/// Moves each step towards the middle of its neighbours, layer by layer, down and up in turns.
fn untangle(graph: &StepGraph, layers: &mut [Vec<usize>]) {
    let mut needed_by = vec![Vec::new(); graph.len()];
    for step in 0..graph.len() {
        for needed in graph.needs(step) {
            needed_by[*needed].push(step);
        }
    }
    let mut places = vec![0.0; graph.len()];
    for layer in layers.iter() {
        settle(layer, &mut places);
    }
    for sweep in 0..SWEEPS {
        if sweep % 2 == 0 {
            for layer in layers.iter_mut() {
                arrange(layer, &mut places, |step| graph.needs(step));
            }
        } else {
            for layer in layers.iter_mut().rev() {
                arrange(layer, &mut places, |step| &needed_by[step]);
            }
        }
    }
}

fn arrange<'g>(layer: &mut [usize], places: &mut [f64], beside: impl Fn(usize) -> &'g [usize]) {
    let middle = |step: &usize| match beside(*step) {
        [] => places[*step],
        neighbours => {
            let sum: f64 = neighbours.iter().map(|neighbour| places[*neighbour]).sum();
            sum / count(neighbours.len())
        }
    };
    layer.sort_by_cached_key(|step| ordered(middle(step)));
    settle(layer, places);
}

/// Gives each step of a layer its position from 0 to 1, so layers of any length compare.
fn settle(layer: &[usize], places: &mut [f64]) {
    for (at, step) in layer.iter().enumerate() {
        places[*step] = (count(at) + 0.5) / count(layer.len());
    }
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Returns a whole number in the order of positions.
fn ordered(place: f64) -> u64 {
    // Positions are from 0 to 1, and the bits of such numbers are in their order.
    place.to_bits()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::export;
    use crate::plans::{
        plan::{OnStepFailure, Plan, PlanParts, PlanPolicy},
        step::{Step, StepIx},
        work::{StepWork, WaitCondition},
    };
    use wf_base::name::{Name, PlanId};

    fn step(id: &str, depends_on: &[u32]) -> Step {
        Step {
            depends_on: depends_on.iter().copied().map(StepIx).collect(),
            ..Step::new(Name::parse(id).unwrap(), StepWork::Wait(WaitCondition::For(Duration::ZERO)))
        }
    }

    fn plan(steps: Vec<Step>, main: usize) -> std::sync::Arc<Plan> {
        let parts = PlanParts::new(
            PlanId::parse("drawn").unwrap(),
            steps,
            main,
            PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO },
        );
        Plan::new(parts).unwrap()
    }

    #[test]
    fn layers_are_untangled() {
        let steps = vec![
            step("a", &[]),
            step("b", &[]),
            step("after_b", &[1]),
            step("after_a", &[0]),
            step("cleanup", &[]),
            step("report", &[]),
        ];
        let layout = export(&plan(steps, 4));
        let layers: Vec<Vec<u32>> =
            layout.layers.iter().map(|layer| layer.iter().map(|ix| ix.0).collect()).collect();
        assert_eq!(layers, [vec![0, 1], vec![3, 2], vec![4], vec![5]]);
        let edges: Vec<_> = layout.edges.iter().map(|(a, b)| (a.0, b.0)).collect();
        assert_eq!(edges, [(1, 2), (0, 3)]);
    }
}
