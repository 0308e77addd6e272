use std::collections::{BTreeMap, VecDeque};

use super::Graph;

/// How many steps of a group are tried as the beginning of a circle.
const MAX_TRIES: usize = 64;
/// How many steps are walked through for one group before its first circle must do.
const MAX_WALK: usize = 200_000;

impl Graph {
    /// One circle of each group of steps that need each other: a shortest one, as far as it takes
    /// reasonable time to find. Each step of it needs the next, and the last needs the first.
    pub fn cycles(&self) -> Vec<Vec<usize>> {
        let shortest = |group: &[usize]| {
            let tries = (MAX_WALK / group.len()).clamp(1, MAX_TRIES);
            let tries = group.iter().take(tries);
            let found = tries.filter_map(|start| self.circle_through(*start, group));
            found.min_by_key(Vec::len)
        };
        self.circles().filter_map(shortest).collect()
    }

    /// A shortest way from a step through what it needs back to itself, inside a group.
    fn circle_through(&self, start: usize, group: &[usize]) -> Option<Vec<usize>> {
        let mut from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut next = VecDeque::from([start]);
        while let Some(step) = next.pop_front() {
            for needed in self.needs(step) {
                if *needed == start {
                    return Some(way_back(start, step, &from));
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

/// The way from `start` to `end`.
fn way_back(start: usize, end: usize, from: &BTreeMap<usize, usize>) -> Vec<usize> {
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
    use super::super::Graph;

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
            let mut found = Graph::new(needs).cycles();
            found.sort();
            assert_eq!(found, cycles);
        }
    }

    #[test]
    fn a_ring_of_a_hundred_thousand_is_found() {
        let count = 100_000;
        let ring = Graph::new((0..count).map(|i| vec![(i + 1) % count]).collect());
        assert_eq!(ring.cycles()[0].len(), count);
    }
}
