use super::StepGraph;

/// A tree in which every step is a child of the one of its needs that comes last in the order. A
/// dependency in the tree is one of the graph, found without a walk; one that is not in the tree
/// may still exist.
pub(super) struct DependencyTree {
    /// The place of each step; its descendants have the places from its own to the end of its span.
    places: Vec<usize>,
    sizes: Vec<usize>,
}

impl DependencyTree {
    /// Makes the tree of a graph, given the position of each step in the order.
    pub(super) fn new(graph: &StepGraph, positions: &[usize]) -> Self {
        let parents: Vec<Option<usize>> = (0..graph.len())
            .map(|step| {
                let earlier = |needed: &&usize| positions[**needed] < positions[step];
                let needs = graph.needs(step).iter().filter(earlier);
                needs.max_by_key(|needed| positions[**needed]).copied()
            })
            .collect();
        let mut sizes = vec![1; graph.len()];
        for step in graph.order().rev() {
            if let Some(parent) = parents[step] {
                sizes[parent] += sizes[step];
            }
        }
        let mut places = vec![0; graph.len()];
        let mut free = vec![0; graph.len()];
        let mut end = 0;
        for step in graph.order() {
            let next = parents[step].map_or(&mut end, |parent| &mut free[parent]);
            places[step] = *next;
            *next += sizes[step];
            free[step] = places[step] + 1;
        }
        Self { places, sizes }
    }

    /// True if a step is a descendant of another.
    pub(super) fn is_descendant(&self, step: usize, from: usize) -> bool {
        let (Some(place), Some(top)) = (self.places.get(step), self.places.get(from)) else {
            return false;
        };
        step != from && (*top..*top + self.sizes[from]).contains(place)
    }
}
