use super::StepGraph;

impl StepGraph {
    /// Returns the path through the graph whose steps together cost most, first step first. Of
    /// paths of the same cost it is the one through the steps written first.
    pub fn critical_path(&self, cost: impl Fn(usize) -> u64) -> Vec<usize> {
        let mut total = vec![0_u64; self.len()];
        for step in self.order() {
            let before = costliest(self.needs(step), &total).map_or(0, |needed| total[needed]);
            total[step] = before.saturating_add(cost(step));
        }
        let all: Vec<usize> = (0..self.len()).collect();
        let mut way = Vec::new();
        let mut at = costliest(&all, &total);
        // A path is no longer than the graph, even if that has a cycle.
        while let Some(step) = at.filter(|_| way.len() < self.len()) {
            way.push(step);
            at = costliest(self.needs(step), &total);
        }
        way.reverse();
        way
    }
}

/// Returns the step whose path costs most, the first of several.
fn costliest(steps: &[usize], total: &[u64]) -> Option<usize> {
    let cost = |step: &usize| total.get(*step).copied().unwrap_or(0);
    let last_wins = steps.iter().rev().copied();
    last_wins.max_by_key(cost)
}

#[cfg(test)]
mod tests {
    use super::super::StepGraph;

    #[test]
    fn the_dearest_way_is_found() {
        let diamond = || StepGraph::new(vec![vec![], vec![0], vec![0], vec![1, 2]]);
        for (costs, way) in [([1, 1, 1, 1], vec![0, 1, 3]), ([1, 1, 5, 1], vec![0, 2, 3])] {
            let found = diamond().critical_path(|step| costs[step]);
            assert_eq!(found, way, "{costs:?}");
        }
        assert!(StepGraph::new(vec![]).critical_path(|_| 1).is_empty());
        assert!(StepGraph::new(vec![vec![1], vec![0]]).critical_path(|_| 1).len() <= 2);
    }
}
