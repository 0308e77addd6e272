use std::collections::BTreeMap;

use super::StepGraph;

/// The number of targets looked for at once: one bit each.
const BATCH: usize = 64;

/// A target: its position in the order, and the step itself.
type OrderedStep = (usize, usize);

impl StepGraph {
    /// Returns for each pair whether the first step needs the second, directly or through others.
    /// No step needs itself, unless it is part of a cycle.
    ///
    /// All questions are answered together: one pass over a part of the graph serves those about 64 targets.
    pub fn reaches(&self, questions: &[(usize, usize)]) -> Vec<bool> {
        let mut positions = vec![0; self.len()];
        for (position, step) in self.order().enumerate() {
            positions[step] = position;
        }
        let mut answers = vec![false; questions.len()];
        let mut open: BTreeMap<OrderedStep, Vec<usize>> = BTreeMap::new();
        for (at, (step, target)) in questions.iter().enumerate() {
            if self.needs(*step).binary_search(target).is_ok() {
                answers[at] = true;
            } else if *step < self.len() && *target < self.len() {
                let target = (positions[*target], *target);
                open.entry(target).or_default().push(at);
            }
        }
        let order: Vec<usize> = self.order().collect();
        let open: Vec<(OrderedStep, Vec<usize>)> = open.into_iter().collect();
        let mut reached = vec![0_u64; self.len()];
        for batch in open.chunks(BATCH) {
            let numbers = batch.iter().flat_map(|(_, numbers)| numbers);
            let last = numbers.map(|at| positions[questions[*at].0]).max();
            let first = batch.first().map(|((position, _), _)| *position);
            let part = first.zip(last).and_then(|(first, last)| order.get(first..=last));
            let part = part.unwrap_or(&[]);
            self.propagate(part, batch, &mut reached);
            for (bit, (_, numbers)) in batch.iter().enumerate() {
                for at in numbers {
                    answers[*at] = self.targets_of_needs(questions[*at].0, &reached) >> bit & 1 == 1;
                }
            }
            let targets = batch.iter().map(|((_, target), _)| target);
            part.iter().chain(targets).for_each(|step| reached[*step] = 0);
        }
        answers
    }

    /// Finds for each step of a part of the order the targets it is or needs.
    fn propagate(&self, part: &[usize], batch: &[(OrderedStep, Vec<usize>)], reached: &mut [u64]) {
        for (bit, ((_, target), _)) in batch.iter().enumerate() {
            reached[*target] = 1 << bit;
        }
        for step in part {
            reached[*step] |= self.targets_of_needs(*step, reached);
        }
    }

    fn targets_of_needs(&self, step: usize, reached: &[u64]) -> u64 {
        let needs = self.needs(step).iter();
        needs.fold(0, |bits, needed| bits | reached[*needed])
    }
}

#[cfg(test)]
mod tests {
    use super::super::StepGraph;
    use proptest::prelude::*;

    #[test]
    fn indirect_needs_count() {
        let graph = StepGraph::new(vec![vec![], vec![0], vec![1], vec![]]);
        let questions = [(2, 0), (2, 1), (1, 0), (0, 2), (3, 0), (1, 1), (9, 0), (0, 9)];
        let answers = [true, true, true, false, false, false, false, false];
        assert_eq!(graph.reaches(&questions), answers);
    }

    #[test]
    fn everybody_asks_about_somebody_far_away() {
        let count = 20_000;
        let row = (0..count).map(|i: usize| i.checked_sub(1).into_iter().collect());
        let row = StepGraph::new(row.collect());
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
            let graph = StepGraph::new(needs);
            let all: Vec<_> = (0..100).flat_map(|a| (0..100).map(move |b| (a, b))).collect();
            for ((step, target), answer) in all.iter().zip(graph.reaches(&all)) {
                prop_assert_eq!(answer, walk(&graph, *step, *target));
            }
        }
    }

    fn walk(graph: &StepGraph, step: usize, target: usize) -> bool {
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
