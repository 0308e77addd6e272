use std::collections::{BTreeMap, BTreeSet};

use super::{PlanSketch, SketchNode};
use crate::state_word;

/// The most groups of a folded picture.
const MAX_GROUPS: usize = 48;

/// The most boxes side by side in a folded picture; more stand below each other.
const MAX_ROW: usize = 8;

/// A picture of a large plan, where steps following each other are one box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldedSketch {
    /// The groups, and the steps of the group that is unfolded.
    pub sketch: PlanSketch,
    /// The boxes from top to bottom, each layer from left to right.
    pub layers: Vec<Vec<usize>>,
}

/// Folds a picture: boxes in the order in which they can run, `order`, become groups of the same size, each with the number
/// of its steps in each state. The group `open` is unfolded; a box of another one leads to `link` of its number.
pub fn fold(
    sketch: &PlanSketch,
    order: &[usize],
    open: Option<usize>,
    link: impl Fn(usize) -> String,
) -> FoldedSketch {
    let size = order.len().div_ceil(MAX_GROUPS).max(1);
    let mut folded =
        PlanSketch { title: sketch.title.clone(), zones: sketch.zones.clone(), ..PlanSketch::default() };
    let mut places = vec![0; sketch.nodes.len()];
    for (number, group) in order.chunks(size).enumerate() {
        let nodes: Vec<&SketchNode> = group.iter().filter_map(|at| sketch.nodes.get(*at)).collect();
        let first = folded.nodes.len();
        let is_open = open == Some(number) || nodes.len() < 2;
        if is_open {
            folded.nodes.extend(nodes.into_iter().cloned());
        } else {
            folded.nodes.extend(group_node(&nodes, link(number)));
        }
        for (at, old) in group.iter().enumerate() {
            if let Some(place) = places.get_mut(*old) {
                *place = first + if is_open { at } else { 0 };
            }
        }
    }
    let place = |at: &usize| places.get(*at).copied().unwrap_or_default();
    let edges = sketch.edges.iter().map(|(from, to)| (place(from), place(to)));
    let edges: BTreeSet<(usize, usize)> = edges.filter(|(from, to)| from != to).collect();
    folded.edges = edges.into_iter().collect();
    let layers = rows(&folded);
    FoldedSketch { sketch: folded, layers }
}

/// Returns the box of a group of steps.
fn group_node(nodes: &[&SketchNode], link: String) -> Option<SketchNode> {
    let (first, last) = (nodes.first()?, nodes.last()?);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        let word = node.state.map_or("not begun", |(state, standing)| state_word(state, standing));
        *counts.entry(word).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(word, count)| format!("{count} {word}"));
    Some(SketchNode {
        name: format!("{} … {}", first.name, last.name),
        title: format!("{} steps", nodes.len()),
        marks: counts.collect(),
        nested: true,
        checked: nodes.iter().any(|node| node.checked),
        zone: first.zone,
        state: first.state.filter(|state| nodes.iter().all(|node| node.state == Some(*state))),
        link: Some(link),
        is_critical: nodes.iter().any(|node| node.is_critical),
    })
}

/// Arranges boxes, each after those it needs, as rows that are not too wide; `finally` steps come last. Arrows lead
/// from a box to a later one.
fn rows(sketch: &PlanSketch) -> Vec<Vec<usize>> {
    let mut depths = vec![0; sketch.nodes.len()];
    for (from, to) in &sketch.edges {
        let least = depths.get(*from).map_or(0, |depth| depth + 1);
        if let Some(depth) = depths.get_mut(*to) {
            *depth = least.max(*depth);
        }
    }
    let last = depths.iter().max().map_or(0, |depth| depth + 1);
    let mut layers: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, (node, depth)) in sketch.nodes.iter().zip(&depths).enumerate() {
        layers.entry(if node.zone.is_some() { last } else { *depth }).or_default().push(at);
    }
    layers
        .into_values()
        .flat_map(|layer| layer.chunks(MAX_ROW).map(<[usize]>::to_vec).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_GROUPS, MAX_ROW, fold};
    use crate::draw::{PlanSketch, SketchNode};
    use wf_core::machine::{Standing, StepState};

    /// A picture of steps, of which each needs those that `needs` returns.
    fn sketch(count: usize, needs: impl Fn(usize) -> Vec<usize>) -> PlanSketch {
        let node = |at: usize| SketchNode {
            name: format!("s{at}"),
            title: String::new(),
            marks: Vec::new(),
            nested: false,
            checked: false,
            zone: None,
            state: at.is_multiple_of(2).then_some((StepState::Failed, Standing::Refuted)),
            link: None,
            is_critical: false,
        };
        let edges = (0..count).flat_map(|to| needs(to).into_iter().map(move |from| (from, to)));
        PlanSketch { nodes: (0..count).map(node).collect(), edges: edges.collect(), ..PlanSketch::default() }
    }

    #[test]
    fn every_step_is_in_one_group_and_counted_by_state() {
        let chain = sketch(5_000, |at| at.checked_sub(1).into_iter().collect());
        let order: Vec<usize> = (0..5_000).collect();
        let folded = fold(&chain, &order, None, |group| format!("?open={group}"));
        assert_eq!(folded.sketch.nodes.len(), MAX_GROUPS);
        let first = &folded.sketch.nodes[0];
        assert_eq!((first.name.as_str(), first.title.as_str()), ("s0 … s104", "105 steps"));
        assert_eq!(first.marks, ["53 failed", "52 not begun"]);
        assert_eq!(first.link.as_deref(), Some("?open=0"));
        let steps: usize = folded
            .sketch
            .nodes
            .iter()
            .map(|node| node.title.split(' ').next().unwrap().parse::<usize>().unwrap())
            .sum();
        assert_eq!(steps, 5_000);
        assert_eq!(folded.layers.len(), MAX_GROUPS, "a chain of groups");
    }

    #[test]
    fn a_group_is_unfolded_and_its_arrows_stay() {
        let fan = sketch(1_000, |at| if at == 0 { Vec::new() } else { vec![0] });
        let order: Vec<usize> = (0..1_000).collect();
        let folded = fold(&fan, &order, Some(1), |group| group.to_string());
        let names: Vec<&str> = folded.sketch.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names[..4], ["s0 … s20", "s21", "s22", "s23"]);
        assert_eq!(names.len(), MAX_GROUPS - 1 + 21);
        assert!(
            folded.sketch.edges.contains(&(0, 1)) && folded.sketch.edges.iter().all(|(from, to)| from < to)
        );
        assert!(folded.layers.iter().all(|row| row.len() <= MAX_ROW));
        let placed: usize = folded.layers.iter().map(Vec::len).sum();
        assert_eq!(placed, names.len());
    }
}
