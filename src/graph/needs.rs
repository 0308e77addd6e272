use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// Which steps need which. Steps are numbered from zero.
#[derive(Clone, Debug)]
pub struct Graph {
    /// For each step those it needs, in order, each once.
    needs: Vec<Vec<usize>>,
    /// Steps that need each other, in groups; the needed come before the needing.
    groups: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph in which the step at each place needs those listed there. Numbers beyond the last
    /// step are left out.
    pub fn new(needs: Vec<Vec<usize>>) -> Self {
        let count = needs.len();
        let tidy = |mut list: Vec<usize>| {
            list.retain(|needed| *needed < count);
            list.sort_unstable();
            list.dedup();
            list
        };
        let needs: Vec<Vec<usize>> = needs.into_iter().map(tidy).collect();
        let groups = groups(&needs);
        Self { needs, groups }
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// The steps that a step needs, in order.
    pub fn needs(&self, step: usize) -> &[usize] {
        self.needs.get(step).map_or(&[], Vec::as_slice)
    }

    /// All steps; each comes after those it needs, unless it is part of a circle.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.groups.iter().flatten().copied()
    }

    /// Groups of steps of which each needs each other.
    pub(super) fn circles(&self) -> impl Iterator<Item = &[usize]> {
        let is_circle = |group: &&Vec<usize>| match group.as_slice() {
            [one] => self.needs(*one).binary_search(one).is_ok(),
            _ => true,
        };
        self.groups.iter().filter(is_circle).map(Vec::as_slice)
    }

    /// For each step the number of its layer: one more than the highest of those it needs.
    /// In a circle the numbers mean little.
    pub fn layers(&self) -> Vec<usize> {
        let mut layers = vec![0; self.len()];
        for step in self.order() {
            let below = self
                .needs(step)
                .iter()
                .filter_map(|needed| layers.get(*needed));
            let layer = below.max().map_or(0, |highest: &usize| highest + 1);
            if let Some(place) = layers.get_mut(step) {
                *place = layer;
            }
        }
        layers
    }
}

fn groups(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut graph: DiGraph<(), (), usize> = DiGraph::default();
    for _ in needs {
        graph.add_node(());
    }
    for (step, list) in needs.iter().enumerate() {
        for needed in list {
            graph.add_edge(NodeIndex::new(step), NodeIndex::new(*needed), ());
        }
    }
    // The groups come in an order in which edges lead backwards: the needed first.
    let numbers = |group: Vec<NodeIndex<usize>>| {
        let mut group: Vec<usize> = group.into_iter().map(NodeIndex::index).collect();
        group.sort_unstable();
        group
    };
    kosaraju_scc(&graph).into_iter().map(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::Graph;

    #[test]
    fn layers_follow_needs() {
        for (needs, layers) in [
            (vec![], vec![]),
            (vec![vec![], vec![0], vec![1, 0], vec![]], vec![0, 1, 2, 0]),
            (vec![vec![2], vec![], vec![1, 1, 9]], vec![2, 0, 1]),
        ] {
            assert_eq!(Graph::new(needs).layers(), layers);
        }
    }

    #[test]
    fn a_hundred_thousand_steps_in_a_row() {
        let count = 100_000;
        let row = Graph::new(
            (0..count)
                .map(|i: usize| i.checked_sub(1).into_iter().collect())
                .collect(),
        );
        assert_eq!(row.layers().last(), Some(&(count - 1)));
        assert_eq!(row.circles().count(), 0);
        assert!(row.order().eq(0..count));
    }
}
