use std::collections::BTreeMap;

use super::Graph;

/// How many targets are looked for at once: one bit each.
const BATCH: usize = 64;

impl Graph {
    /// Whether, in each pair, the first step needs the second, directly or through others. No
    /// step needs itself, unless it is part of a circle.
    ///
    /// All questions are answered together: one pass over the graph serves all questions about 64
    /// targets, and a direct need takes no pass at all.
    pub fn reaches(&self, questions: &[(usize, usize)]) -> Vec<bool> {
        let mut answers = vec![false; questions.len()];
        let mut open: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, (step, target)) in questions.iter().enumerate() {
            if self.needs(*step).binary_search(target).is_ok() {
                answers[at] = true;
            } else {
                open.entry(*target).or_default().push(at);
            }
        }
        let targets: Vec<usize> = open.keys().copied().collect();
        for batch in targets.chunks(BATCH) {
            let reached = self.pass(batch);
            for (bit, target) in batch.iter().enumerate() {
                for at in open.get(target).into_iter().flatten() {
                    let step = questions[*at].0;
                    answers[*at] = reached.get(step).is_some_and(|bits| bits >> bit & 1 == 1);
                }
            }
        }
        answers
    }

    /// For each step, which of the targets it needs.
    fn pass(&self, targets: &[usize]) -> Vec<u64> {
        let mut reached = vec![0_u64; self.len()];
        let own = |step: usize| targets.binary_search(&step).map_or(0, |bit| 1_u64 << bit);
        for step in self.order() {
            let needed = self.needs(step).iter();
            let bits = needed.fold(0, |bits, needed| {
                bits | own(*needed) | reached.get(*needed).copied().unwrap_or(0)
            });
            reached[step] = bits;
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::super::Graph;
    use proptest::prelude::*;

    #[test]
    fn indirect_needs_count() {
        let graph = Graph::new(vec![vec![], vec![0], vec![1], vec![]]);
        let questions = [
            (2, 0),
            (2, 1),
            (1, 0),
            (0, 2),
            (3, 0),
            (1, 1),
            (9, 0),
            (0, 9),
        ];
        let answers = [true, true, true, false, false, false, false, false];
        assert_eq!(graph.reaches(&questions), answers);
    }

    #[test]
    fn everybody_asks_about_somebody_far_away() {
        let count = 20_000;
        let row = (0..count).map(|i: usize| i.checked_sub(1).into_iter().collect());
        let row = Graph::new(row.collect());
        let questions: Vec<_> = (0..count).map(|i| (i, i / 2)).collect();
        let answers = row.reaches(&questions);
        assert!(answers.iter().skip(1).all(|yes| *yes) && !answers[0]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_walk(edges in prop::collection::vec((0..100_usize, 0..100_usize), 0..200)) {
            let mut needs = vec![Vec::new(); 100];
            for (a, b) in edges {
                if a != b {
                    needs[a.max(b)].push(a.min(b));
                }
            }
            let graph = Graph::new(needs);
            let all: Vec<_> = (0..100).flat_map(|a| (0..100).map(move |b| (a, b))).collect();
            for ((step, target), answer) in all.iter().zip(graph.reaches(&all)) {
                prop_assert_eq!(answer, walk(&graph, *step, *target));
            }
        }
    }

    fn walk(graph: &Graph, step: usize, target: usize) -> bool {
        let mut seen = [false; 100];
        let mut next = vec![step];
        while let Some(at) = next.pop() {
            for needed in graph.needs(at) {
                if *needed == target {
                    return true;
                }
                if !std::mem::replace(&mut seen[*needed], true) {
                    next.push(*needed);
                }
            }
        }
        false
    }
}
