use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// Which steps need which. Steps are numbered from zero.
#[derive(Clone, Debug)]
pub struct Graph {
    /// For each step those it needs, in order, each once.
    needs: Vec<Vec<usize>>,
    /// All steps; each comes after those it needs, unless it is part of a circle.
    order: Vec<usize>,
    /// Groups of steps of which each needs each other.
    circles: Vec<Vec<usize>>,
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
        // Circles are rare, and to look for them takes several times as long as to find none.
        let (order, circles) = match sorted(&needs) {
            Some(order) => (order, Vec::new()),
            None => grouped(&needs),
        };
        Self {
            needs,
            order,
            circles,
        }
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
        self.order.iter().copied()
    }

    /// Groups of steps of which each needs each other.
    pub(super) fn circles(&self) -> impl Iterator<Item = &[usize]> {
        self.circles.iter().map(Vec::as_slice)
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

/// Where a walk stands with a step.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    No,
    /// What it needs is being looked at.
    Open,
    Done,
}

/// All steps, the needed before the needing, else as they are written; `None` if there is a circle.
fn sorted(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut seen = vec![Seen::No; needs.len()];
    let mut order = Vec::with_capacity(needs.len());
    // The steps that are open, each with what it needs and was not looked at.
    let mut open: Vec<(usize, std::slice::Iter<'_, usize>)> = Vec::new();
    for start in 0..needs.len() {
        let mut next = (seen[start] == Seen::No).then_some(start);
        loop {
            if let Some(step) = next.take() {
                seen[step] = Seen::Open;
                open.push((step, needs[step].iter()));
            }
            let Some((step, left)) = open.last_mut() else {
                break;
            };
            match left.next().map(|needed| (*needed, seen[*needed])) {
                Some((_, Seen::Open)) => return None,
                Some((needed, Seen::No)) => next = Some(needed),
                Some((_, Seen::Done)) => {}
                None => {
                    seen[*step] = Seen::Done;
                    order.push(*step);
                    open.pop();
                }
            }
        }
    }
    Some(order)
}

/// All steps, the needed before the needing but for circles, and the circles: groups of steps that
/// need each other.
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
    use super::{Graph, grouped, sorted};
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn without_circles_the_short_way_and_the_long_way_agree(
            edges in prop::collection::vec((0..30_usize, 0..30_usize), 0..60),
        ) {
            let mut needs = vec![Vec::new(); 30];
            for (step, needed) in edges {
                needs[step].push(needed);
            }
            let needs = Graph::new(needs).needs;
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
