use petgraph::{
    algo::kosaraju_scc,
    graph::{DiGraph, NodeIndex},
    visit::DfsPostOrder,
};

/// The dependencies between steps. Steps are numbered from zero.
#[derive(Clone, Debug)]
pub struct StepGraph {
    /// The steps each step needs, in order, each once.
    needs: Vec<Vec<usize>>,
    /// All steps; each comes after those it needs, unless it is part of a cycle.
    order: Vec<usize>,
    /// Groups of steps of which each needs each other.
    cyclic_groups: Vec<Vec<usize>>,
}

impl StepGraph {
    /// Makes a graph where the step at each index needs those listed there. Numbers beyond the
    /// last step are left out.
    pub fn new(needs: Vec<Vec<usize>>) -> Self {
        let count = needs.len();
        let tidy = |mut list: Vec<usize>| {
            list.retain(|needed| *needed < count);
            list.sort_unstable();
            list.dedup();
            list
        };
        let needs: Vec<Vec<usize>> = needs.into_iter().map(tidy).collect();
        // Cycles are rare, and to look for them takes several times as long as to find none.
        let (order, circles) = match sorted(&needs) {
            Some(order) => (order, Vec::new()),
            None => grouped(&needs),
        };
        Self { needs, order, cyclic_groups: circles }
    }

    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// True if there are no steps.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Returns the steps a step needs, in order.
    pub fn needs(&self, step: usize) -> &[usize] {
        self.needs.get(step).map_or(&[], Vec::as_slice)
    }

    /// Returns all steps; each comes after those it needs, unless it is part of a cycle.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.order.iter().copied()
    }

    /// Returns groups of steps of which each needs each other.
    pub(super) fn cyclic_groups(&self) -> impl Iterator<Item = &[usize]> {
        self.cyclic_groups.iter().map(Vec::as_slice)
    }

    /// Returns the number of the layer for each step: one more than the highest of those it needs.
    /// In a cycle the numbers mean little.
    pub fn layers(&self) -> Vec<usize> {
        let mut layers = vec![0; self.len()];
        for step in self.order() {
            let below = self.needs(step).iter().filter_map(|needed| layers.get(*needed));
            let layer = below.max().map_or(0, |highest: &usize| highest + 1);
            if let Some(place) = layers.get_mut(step) {
                *place = layer;
            }
        }
        layers
    }
}

/// Returns all steps, the needed before the needing, else as written; `None` if there is a cycle.
fn sorted(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let graph = directed(needs);
    let mut walk = DfsPostOrder::empty(&graph);
    let mut order = Vec::with_capacity(needs.len());
    let mut places = vec![usize::MAX; needs.len()];
    for start in graph.node_indices() {
        walk.move_to(start);
        while let Some(step) = walk.next(&graph) {
            let step = step.index();
            places[step] = order.len();
            if needs[step].iter().any(|needed| places[*needed] >= order.len()) {
                return None;
            }
            order.push(step);
        }
    }
    Some(order)
}

/// Returns all steps, the needed before the needing except in cycles, and the cycles: groups of
/// steps needing each other.
fn grouped(needs: &[Vec<usize>]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut groups = groups(needs);
    let order = groups.iter().flatten().copied().collect();
    groups.retain(|group| match group.as_slice() {
        [one] => needs[*one].binary_search(one).is_ok(),
        _ => true,
    });
    (order, groups)
}

fn groups(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    // The groups come in an order in which edges lead backwards: the needed first.
    let numbers = |group: Vec<NodeIndex<usize>>| {
        let mut group: Vec<usize> = group.into_iter().map(NodeIndex::index).collect();
        group.sort_unstable();
        group
    };
    kosaraju_scc(&directed(needs)).into_iter().map(numbers).collect()
}

/// Returns a graph with an edge from each step to each it needs.
fn directed(needs: &[Vec<usize>]) -> DiGraph<(), (), usize> {
    let mut graph = DiGraph::with_capacity(needs.len(), needs.iter().map(Vec::len).sum());
    for _ in needs {
        graph.add_node(());
    }
    for (step, list) in needs.iter().enumerate() {
        for needed in list {
            graph.add_edge(NodeIndex::new(step), NodeIndex::new(*needed), ());
        }
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::{StepGraph, grouped, sorted};
    use proptest::prelude::*;

    #[test]
    fn layers_follow_needs() {
        for (needs, layers) in [
            (vec![], vec![]),
            (vec![vec![], vec![0], vec![1, 0], vec![]], vec![0, 1, 2, 0]),
            (vec![vec![2], vec![], vec![1, 1, 9]], vec![2, 0, 1]),
        ] {
            assert_eq!(StepGraph::new(needs).layers(), layers);
        }
    }

    proptest! {
        #[test]
        fn without_circles_the_short_way_and_the_long_way_agree(
            edges in prop::collection::vec((0..30_usize, 0..30_usize), 0..60)) {
            let mut needs = vec![Vec::new(); 30];
            for (step, needed) in edges {
                needs[step].push(needed);
            }
            let needs = StepGraph::new(needs).needs;
            let (long, circles) = grouped(&needs);
            prop_assert_eq!(sorted(&needs).is_none(), !circles.is_empty());
            for order in sorted(&needs).into_iter().chain([long]) {
                let place = |step: usize| order.iter().position(|other| *other == step);
                prop_assert_eq!(order.len(), needs.len());
                for (step, list) in needs.iter().enumerate() {
                    prop_assert!(place(step).is_some());
                    let is_late = |needed: &usize| place(*needed) >= place(step);
                    prop_assert!(!circles.is_empty() || !list.iter().any(is_late));
                }
            }
        }
    }

    #[test]
    fn a_hundred_thousand_steps_in_a_row() {
        let count = 100_000;
        let row = StepGraph::new((0..count).map(|i: usize| i.checked_sub(1).into_iter().collect()).collect());
        assert_eq!(row.layers().last(), Some(&(count - 1)));
        assert_eq!(row.cyclic_groups().count(), 0);
        assert!(row.order().eq(0..count));
    }
}
