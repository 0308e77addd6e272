use std::collections::{BTreeMap, BTreeSet};

use wf_core::machine::{Standing, StepState};
use wf_model::{AnswerKind, Plan, Step, StepIx, StepRepetition, StepWork, claimed_path};

/// The most boxes of a picture; nested plans beyond it stay folded.
const MAX_BOXES: usize = 5_000;

/// The depth to which nested plans are unfolded.
const MAX_UNFOLD_DEPTH: usize = 8;

/// The content of a picture of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanSketch {
    /// The title above it.
    pub title: String,
    /// The boxes, in plan order.
    pub nodes: Vec<SketchNode>,
    /// The arrows, from box to box, by index.
    pub edges: Vec<(usize, usize)>,
    /// Boxes belonging together, outermost first.
    pub zones: Vec<SketchZone>,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchNode {
    /// The step's id.
    pub name: String,
    /// The step's title, if it has one.
    pub title: String,
    /// Its special features: `when …`, `for each …`, `retry 3`.
    pub marks: Vec<String>,
    /// True if it represents a whole plan.
    pub nested: bool,
    pub checked: bool,
    /// The zone it belongs to; `None`: the plan's main steps.
    pub zone: Option<usize>,
    /// The state of its step in a run, and the standing of its result; `None`: it is of no run.
    pub state: Option<(StepState, Standing)>,
    /// The address it leads to on a page.
    pub link: Option<String>,
    /// True if it is part of the chain of steps that took longest.
    pub is_critical: bool,
}

/// A frame around boxes: `finally`, or an unfolded plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SketchZone {
    pub name: String,
    /// The zone around it.
    pub within: Option<usize>,
}

impl PlanSketch {
    /// Reduces a plan; `unfold` shows the steps of the plans it uses.
    pub fn from_plan(plan: &Plan, unfold: bool) -> Self {
        let title = plan.parts().title.as_deref();
        let mut sketch = Self { title: title.unwrap_or(plan.id().as_str()).to_owned(), ..Self::default() };
        sketch.add(plan, None, if unfold { MAX_UNFOLD_DEPTH } else { 0 });
        sketch
    }

    /// Returns the boxes, arrows and zones as a document. Boxes are named as displayed: below the
    /// plans around them.
    pub fn json(&self) -> serde_json::Value {
        let name = |at: &usize| self.nodes.get(*at).map(|node| node.name.as_str());
        let zone = |at: Option<usize>| at.and_then(|at| self.zones.get(at)).map(|zone| &zone.name);
        let node = |node: &SketchNode| {
            serde_json::json!({
                "step": node.name,
                "title": node.title,
                "marks": node.marks,
                "nested": node.nested,
                "checked": node.checked,
                "zone": zone(node.zone),
            })
        };
        let edge = |(from, to): &(usize, usize)| serde_json::json!([name(from), name(to)]);
        serde_json::json!({
            "v": 1,
            "title": self.title,
            "steps": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "edges": self.edges.iter().map(edge).collect::<Vec<_>>(),
        })
    }

    /// Adds a plan's steps within a zone; returns its first and its last boxes.
    fn add(&mut self, plan: &Plan, zone: Option<usize>, unfold: usize) -> (Vec<usize>, Vec<usize>) {
        let mut ends: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        let mut finally = None;
        let shared = shared_claims(plan);
        for (at, step) in plan.steps().iter().enumerate() {
            let ix = StepIx(u32::try_from(at).unwrap_or(u32::MAX));
            let zone = if plan.is_finally(ix) {
                Some(*finally.get_or_insert_with(|| self.zone("finally".into(), zone)))
            } else {
                zone
            };
            let claims = shared.get(at).map_or(&[][..], Vec::as_slice);
            let own = match &step.work {
                StepWork::Uses(uses) if unfold > 0 && self.nodes.len() < MAX_BOXES => {
                    let inner = self.zone(heading(step, uses.plan.id().as_str(), claims), zone);
                    self.add(&uses.plan, Some(inner), unfold - 1)
                }
                _ => self.node(step, zone, claims),
            };
            ends.push(own);
        }
        self.arrows(plan, &ends);
        let main = || (0..plan.parts().main).filter_map(|at| Some((at, ends.get(at)?)));
        let first = main().filter(|(at, _)| plan.steps().get(*at).is_some_and(is_first));
        let ix = |at: usize| StepIx(u32::try_from(at).unwrap_or(u32::MAX));
        let last = main().filter(|(at, _)| plan.dependents(ix(*at)).is_empty());
        (
            first.flat_map(|(_, (first, _))| first.clone()).collect(),
            last.flat_map(|(_, (_, last))| last.clone()).collect(),
        )
    }

    fn arrows(&mut self, plan: &Plan, ends: &[(Vec<usize>, Vec<usize>)]) {
        for (step, (first, _)) in plan.steps().iter().zip(ends) {
            let needed = step.depends_on.iter().filter_map(|ix| ends.get(ix.index()));
            for from in needed.flat_map(|(_, last)| last) {
                self.edges.extend(first.iter().map(|to| (*from, *to)));
            }
        }
    }

    fn node(&mut self, step: &Step, zone: Option<usize>, claims: &[String]) -> (Vec<usize>, Vec<usize>) {
        let at = self.nodes.len();
        self.nodes.push(SketchNode {
            name: step.id.to_string(),
            title: step.title.clone().unwrap_or_default(),
            marks: marks(step, claims),
            nested: matches!(step.work, StepWork::Uses(_) | StepWork::Generated(_)),
            checked: !step.verify.is_empty(),
            zone,
            state: None,
            link: None,
            is_critical: false,
        });
        (vec![at], vec![at])
    }

    fn zone(&mut self, name: String, within: Option<usize>) -> usize {
        self.zones.push(SketchZone { name, within });
        self.zones.len() - 1
    }
}

fn is_first(step: &Step) -> bool {
    step.depends_on.is_empty()
}

fn heading(step: &Step, plan: &str, claims: &[String]) -> String {
    let marks = marks(step, claims).into_iter().filter(|mark| !mark.starts_with("uses "));
    let marks: Vec<String> = std::iter::once(format!("{}: {plan}", step.id)).chain(marks).collect();
    marks.join(" · ")
}

/// Returns the paths of each step for which it takes turns with another one: those the text of both names.
fn shared_claims(plan: &Plan) -> Vec<Vec<String>> {
    let own = |step: &Step| {
        let paths = step.claims().filter(|path| path.refs().is_empty());
        paths.filter_map(|path| claimed_path(path.source())).collect::<Vec<_>>()
    };
    let claims: Vec<Vec<String>> = plan.steps().iter().map(own).collect();
    let mut owners: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (at, path) in
        claims.iter().enumerate().flat_map(|(at, paths)| paths.iter().map(move |path| (at, path)))
    {
        owners.entry(path.clone()).or_default().insert(at);
    }
    let is_shared = |at: usize, path: &str| {
        let others = |owners: &BTreeSet<usize>| owners.iter().any(|owner| *owner != at);
        let mut above = path.match_indices('/').filter_map(|(end, _)| owners.get(path.get(..end)?));
        let folder = format!("{path}/");
        let mut below = owners.range(folder.clone()..).take_while(|(inner, _)| inner.starts_with(&folder));
        owners.get(path).is_some_and(others) || above.any(others) || below.any(|(_, owners)| others(owners))
    };
    let shared = |(at, paths): (usize, &Vec<String>)| {
        paths.iter().filter(|path| is_shared(at, path)).cloned().collect()
    };
    claims.iter().enumerate().map(shared).collect()
}

fn marks(step: &Step, claims: &[String]) -> Vec<String> {
    let mut marks = Vec::new();
    if let StepWork::Uses(uses) = &step.work {
        marks.push(format!("uses {}", uses.plan.id()));
    }
    if let StepWork::Generated(made) = &step.work {
        let kind =
            if made.text.is_some() { "runs a generated plan" } else { "open: runs a plan of the planner" };
        marks.push(format!("{kind} of up to {} steps", made.envelope.max_steps));
    }
    if let StepWork::Approve(decision) = &step.work {
        let kind = decision.answer.as_ref().map_or("yes or no", AnswerKind::as_str);
        marks.push(format!("approval: {kind}"));
    }
    if let StepWork::Agent(agent) = &step.work
        && let Some(dispatch) = &agent.dispatch
    {
        let ids: Vec<&str> = dispatch.plans.iter().map(|child| child.plan.id().as_str()).collect();
        marks.push(format!("may start {}", ids.join(", ")));
    }
    if let Some(when) = &step.when {
        marks.push(format!("when {}", when.source()));
    }
    match &step.fan {
        StepRepetition::Once => {}
        StepRepetition::Each(list) => marks.push(format!("for each of {}", list.source())),
        StepRepetition::List(items) => marks.push(format!("for each of {} items", items.len())),
        StepRepetition::Matrix(cells) => marks.push(format!("matrix of {}", cells.len())),
    }
    if let Some(key) = &step.key {
        marks.push(format!("key {}", key.source()));
    }
    if step.retry.max > 0 {
        marks.push(format!("retry {}", step.retry.max));
    }
    if !claims.is_empty() {
        marks.push(format!("claims {}", claims.join(", ")));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::PlanSketch;
    use crate::draw::tests::sample;

    #[test]
    fn a_plan_that_is_used_unfolds_between_its_neighbours() {
        let folded = PlanSketch::from_plan(&sample::plan(), false);
        let names = |sketch: &PlanSketch| -> Vec<String> {
            sketch.nodes.iter().map(|node| node.name.clone()).collect()
        };
        assert_eq!(names(&folded), ["fetch", "all", "publish", "cleanup"]);
        assert_eq!(folded.edges, [(0, 1), (1, 2)]);
        let unfolded = PlanSketch::from_plan(&sample::plan(), true);
        assert_eq!(names(&unfolded), ["fetch", "one", "two", "publish", "cleanup"]);
        assert_eq!(unfolded.edges, [(0, 1), (0, 2), (1, 3), (2, 3)]);
        let zones: Vec<&str> = unfolded.zones.iter().map(|zone| zone.name.as_str()).collect();
        assert_eq!(zones, ["all: parts", "finally"]);
    }
}
