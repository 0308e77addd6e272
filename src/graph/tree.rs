use super::Graph;

/// A tree in which every step hangs from the one of its needs that ends last. What it says is
/// true of the graph, and takes no walk to find out; what it does not say may be true all the
/// same.
pub(super) struct Tree {
    /// The steps that hang from a step, directly or through others, have the places from its own
    /// to the end of its span.
    places: Vec<usize>,
    sizes: Vec<usize>,
}

impl Tree {
    /// The tree of a graph, given the place of each step in the order.
    pub(super) fn new(graph: &Graph, positions: &[usize]) -> Self {
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

    /// Whether a step hangs from another.
    pub(super) fn hangs(&self, step: usize, from: usize) -> bool {
        let (Some(place), Some(top)) = (self.places.get(step), self.places.get(from)) else {
            return false;
        };
        step != from && (*top..*top + self.sizes[from]).contains(place)
    }
}
