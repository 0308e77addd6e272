use std::collections::{BTreeMap, VecDeque};

use super::StepGraph;

/// The number of steps of a group tried as the start of a cycle.
const MAX_TRIES: usize = 64;
/// The number of steps visited for one group before its first cycle must do.
const MAX_WALK: usize = 200_000;

impl StepGraph {
    /// Returns one cycle of each group of steps needing each other: a shortest one, if it can be
    /// found in reasonable time. Each step of it needs the next, and the last needs the first.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let shortest = |group: &[usize]| {
            let tries = (MAX_WALK / group.len()).clamp(1, MAX_TRIES);
            let tries = group.iter().take(tries);
            let cycles = tries.filter_map(|start| self.shortest_cycle(*start, group));
            cycles.min_by_key(Vec::len)
        };
        self.cyclic_groups().filter_map(shortest).collect()
    }

    /// Returns a shortest path from a step through its needs back to itself, inside a group.
    fn shortest_cycle(&self, start: usize, group: &[usize]) -> Option<Vec<usize>> {
        let mut from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(step) = next.pop_front() {
            for needed in self.needs(step) {
                if *needed == start {
                    return Some(path_back(start, step, &from));
                }
                if group.binary_search(needed).is_ok() && !from.contains_key(needed) {
                    from.insert(*needed, step);
                    next.push_back(*needed);
                }
            }
        }
        None
    }
}

fn path_back(start: usize, end: usize, from: &BTreeMap<usize, usize>) -> Vec<usize> {
    let mut way = vec![end];
    let mut at = end;
    while at != start {
        let Some(before) = from.get(&at) else { break };
        way.push(*before);
        at = *before;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::super::StepGraph;

    #[test]
    fn a_shortest_circle_of_each_group_is_found() {
        for (needs, cycles) in [
            (vec![vec![], vec![0], vec![0, 1]], vec![]),
            (vec![vec![0]], vec![vec![0]]),
            (vec![vec![1], vec![2], vec![0]], vec![vec![0, 1, 2]]),
            (
                // A ring of four with a shortcut, and a pair.
                vec![vec![1], vec![2], vec![3, 1], vec![0], vec![5], vec![4]],
                vec![vec![1, 2], vec![4, 5]],
            ),
        ] {
            let mut found = StepGraph::new(needs).cycles();
            found.sort();
            assert_eq!(found, cycles);
        }
    }

    #[test]
    fn a_ring_of_a_hundred_thousand_is_found() {
        let count = 100_000;
        let ring = StepGraph::new((0..count).map(|i| vec![(i + 1) % count]).collect());
        assert_eq!(ring.cycles()[0].len(), count);
    }
}
