use std::time::Duration;

use wf_model::graph::StepGraph;

/// The chain of steps, from the first to the last, that took longest together: each needs the one before it. `took` has
/// the time of each step; a step that took none is in no chain. Empty if no step took any.
pub fn critical_path(graph: &StepGraph, took: &[Duration]) -> Vec<usize> {
    let own = |step: usize| took.get(step).copied().unwrap_or_default();
    let mut longest = vec![Duration::ZERO; graph.len()];
    let mut before: Vec<Option<usize>> = vec![None; graph.len()];
    let time = |longest: &[Duration], step: usize| longest.get(step).copied().unwrap_or_default();
    for step in graph.order() {
        // Of equal chains, the one of the step that is needed first stays.
        let above = graph.needs(step).iter().copied().rev().max_by_key(|needed| time(&longest, *needed));
        let above = above.filter(|needed| !time(&longest, *needed).is_zero());
        let total = own(step) + above.map_or(Duration::ZERO, |needed| time(&longest, needed));
        if let (Some(place), Some(link)) = (longest.get_mut(step), before.get_mut(step)) {
            (*place, *link) = (total, above);
        }
    }
    let last = (0..graph.len()).rev().max_by_key(|step| time(&longest, *step));
    let last = last.filter(|step| !time(&longest, *step).is_zero());
    let chain = std::iter::successors(last, |step| before.get(*step).copied().flatten());
    let mut chain: Vec<usize> = chain.filter(|step| !own(*step).is_zero()).collect();
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::critical_path;
    use wf_model::graph::StepGraph;

    fn path(needs: &[&[usize]], millis: &[u64]) -> Vec<usize> {
        let took: Vec<Duration> = millis.iter().map(|millis| Duration::from_millis(*millis)).collect();
        critical_path(&StepGraph::new(needs.iter().map(|needs| needs.to_vec()).collect()), &took)
    }

    #[test]
    fn the_longest_chain_is_found_whatever_the_order_of_steps() {
        // 0 ─▶ 1 ─▶ 3, 0 ─▶ 2 ─▶ 3: by way of 2 it takes longer.
        assert_eq!(path(&[&[], &[0], &[0], &[1, 2]], &[5, 10, 20, 1]), [0, 2, 3]);
        // The last step is written first.
        assert_eq!(path(&[&[2], &[], &[1]], &[1, 2, 3]), [1, 2, 0]);
        // A single long step outweighs a chain of short ones.
        assert_eq!(path(&[&[], &[0], &[1], &[]], &[1, 1, 1, 9]), [3]);
    }

    #[test]
    fn steps_that_took_no_time_are_in_no_chain() {
        assert!(path(&[], &[]).is_empty());
        assert!(path(&[&[], &[0]], &[0, 0]).is_empty());
        assert_eq!(path(&[&[], &[0], &[1]], &[4, 0, 5]), [0, 2]);
        assert_eq!(path(&[&[], &[0]], &[4]), [0]);
    }

    #[test]
    fn of_equal_chains_one_is_taken() {
        assert_eq!(path(&[&[], &[0], &[0]], &[1, 2, 2]), [0, 1]);
    }
}
