//! Tier 2 of the context manager (Silas 5.7): a small model, the compactor, chooses which groups of old turns stay where
//! the deterministic cut would omit the oldest.
//!
//! **Invariant:** it chooses only among turns this cut could omit, and what is left fits as well as with it.

use serde::{Deserialize, Serialize};

use super::{ContextCut, ContextLimits, ConversationSize};
use wf_model::UniqueKeyJson;

/// The maximum number of groups in a question.
const MAX_GROUPS: usize = 20;

/// The tokens a question may have, as estimated.
pub const QUESTION_TOKENS: u64 = 5000;

/// The maximum tokens of an answer.
pub const ANSWER_TOKENS: u64 = 300;

/// The answer of a compactor: the numbers of groups, counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupChoice {
    /// The groups that stay if they can.
    pub keep_groups: Vec<u32>,
    /// The groups that are omitted, the least valuable first, until enough is free.
    pub evict_groups: Vec<u32>,
}

/// The mistake in the answer of a compactor.
#[derive(Debug, thiserror::Error)]
pub enum GroupChoiceMistake {
    #[error("the answer is not a single JSON object: {0}")]
    NotJson(serde_json::Error),
    #[error("the answer is invalid: {0}")]
    Form(serde_json::Error),
    #[error("there is no group {number}: the last one is {last}")]
    UnknownGroup { number: u32, last: usize },
    #[error("group {0} is named twice")]
    Twice(u32),
}

impl GroupChoice {
    /// Reads an answer about a number of groups.
    pub fn read(answer: &str, groups: usize) -> Result<Self, GroupChoiceMistake> {
        let UniqueKeyJson(said) =
            serde_json::from_str(crate::agent::unfence(answer)).map_err(GroupChoiceMistake::NotJson)?;
        let choice: Self = serde_json::from_value(said).map_err(GroupChoiceMistake::Form)?;
        let mut seen = vec![false; groups];
        for number in choice.evict_groups.iter().chain(&choice.keep_groups) {
            let at = usize::try_from(*number).unwrap_or(usize::MAX).wrapping_sub(1);
            match seen.get_mut(at) {
                None => return Err(GroupChoiceMistake::UnknownGroup { number: *number, last: groups }),
                Some(true) => return Err(GroupChoiceMistake::Twice(*number)),
                Some(seen) => *seen = true,
            }
        }
        Ok(choice)
    }

    /// Returns the positions of all groups in the order in which they are omitted: those to evict, those not named,
    /// oldest first, and last those to keep.
    fn order(&self, groups: usize) -> Vec<usize> {
        let at = |number: &u32| usize::try_from(*number).unwrap_or(usize::MAX).wrapping_sub(1);
        let mut order: Vec<usize> = self.evict_groups.iter().map(at).collect();
        let kept: Vec<usize> = self.keep_groups.iter().map(at).collect();
        let rest: Vec<usize> = (0..groups).filter(|at| !order.contains(at)).collect();
        order.extend(rest.iter().filter(|at| !kept.contains(at)));
        order.extend(rest.iter().filter(|at| kept.contains(at)));
        order
    }
}

impl ContextCut {
    /// Returns the groups of turns of which the next cut omits some, and not all; none if there is nothing to choose.
    pub(crate) fn groups(&self, size: &ConversationSize, limits: ContextLimits) -> Vec<Vec<u32>> {
        let next = self.next(size, limits);
        let all = self.masking(next.masked_turns).sent_masked_turns();
        let left = next.sent_masked_turns().len();
        if left == 0 || left == all.len() {
            return Vec::new();
        }
        let length = all.len().div_ceil(MAX_GROUPS).max(1);
        all.chunks(length).map(<[u32]>::to_vec).collect()
    }

    /// Returns the next cut, with the choice of a compactor. Its groups are those of [`groups`](Self::groups).
    pub(crate) fn chosen(
        &self,
        size: &ConversationSize,
        limits: ContextLimits,
        choice: &GroupChoice,
    ) -> Self {
        let groups = self.groups(size, limits);
        let next = self.next(size, limits);
        let mut cut = self.masking(next.masked_turns);
        for at in choice.order(groups.len()) {
            if size.tokens(&cut) <= limits.goal() {
                return cut;
            }
            for turn in groups.get(at).into_iter().flatten() {
                cut.omit(*turn);
            }
        }
        // The last group did it, or the notes of many gaps take what was to be free.
        if size.tokens(&cut) <= limits.goal() { cut } else { next }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{GroupChoice, MAX_GROUPS};
    use crate::agent::context::{
        ContextCut, ContextLimits, ConversationSize, TokenScale, TurnRange, TurnSize,
    };

    const LIMITS: ContextLimits = ContextLimits { context_window: 10_000, max_output: 1_000 };

    fn uniform(turns: usize, result: u64) -> ConversationSize {
        let turn = TurnSize { reply: 10, results: vec![result], repair: 0 };
        ConversationSize { first: 100, turns: vec![turn; turns], scale: TokenScale::default() }
    }

    fn choice(keep: &[u32], evict: &[u32]) -> GroupChoice {
        GroupChoice { keep_groups: keep.to_vec(), evict_groups: evict.to_vec() }
    }

    #[test]
    fn an_answer_names_each_group_at_most_once() {
        let read = |text| GroupChoice::read(text, 3);
        assert_eq!(read(r#"{"keep_groups": [2], "evict_groups": [3, 1]}"#).unwrap(), choice(&[2], &[3, 1]));
        assert_eq!(
            read("```json\n{\"keep_groups\": [], \"evict_groups\": []}\n```").unwrap(),
            GroupChoice::default()
        );
        for (text, expected) in [
            ("", "not a single JSON object"),
            ("[1]", "invalid"),
            (r#"{"keep_groups": [1]}"#, "missing field `evict_groups`"),
            (r#"{"keep_groups": [1], "evict_groups": [], "why": ""}"#, "unknown field `why`"),
            (r#"{"keep_groups": [1], "evict_groups": [1]}"#, "group 1 is named twice"),
            (r#"{"keep_groups": [1, 1], "evict_groups": []}"#, "group 1 is named twice"),
            (r#"{"keep_groups": [4], "evict_groups": []}"#, "there is no group 4"),
            (r#"{"keep_groups": [0], "evict_groups": []}"#, "there is no group 0"),
            (r#"{"keep_groups": [-1], "evict_groups": []}"#, "invalid"),
            (r#"{"keep_groups": [], "keep_groups": [], "evict_groups": []}"#, "keep_groups"),
        ] {
            let why = read(text).unwrap_err().to_string();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }

    #[test]
    fn turns_that_are_kept_stay_and_the_newest_ones_are_not_asked_about() {
        // A hundred turns of 60 tokens: results are too short to be masked.
        let size = uniform(160, 50);
        let none = ContextCut::default();
        let groups = none.groups(&size, LIMITS);
        let all: Vec<u32> = groups.concat();
        assert_eq!((groups.len(), groups[0].len(), groups[19].len()), (MAX_GROUPS, 8, 3));
        assert_eq!(all, (1..=155).collect::<Vec<u32>>());
        let oldest = none.next(&size, LIMITS);
        assert!(oldest.omitted_turns == 80 && oldest.kept_turns.is_empty(), "{oldest:?}");
        let cut = none.chosen(&size, LIMITS, &choice(&[1, 2], &[20, 19]));
        assert!(
            !cut.omits(1) && !cut.omits(16) && cut.omits(17) && cut.omits(155) && !cut.omits(156),
            "{cut:?}"
        );
        assert_eq!(cut.kept_turns[0], TurnRange { first: 1, last: 16 });
        // What was kept may be omitted by the next cut, the oldest first.
        let later = cut.next(&uniform(240, 50), LIMITS);
        assert!(later.omits(1) && later.omits(155), "{later:?}");
    }

    #[test]
    fn nothing_is_asked_where_nothing_can_be_chosen() {
        let none = ContextCut::default();
        assert!(none.groups(&uniform(10, 50), LIMITS).is_empty(), "it fits");
        assert!(none.groups(&uniform(30, 300), LIMITS).is_empty(), "masks are enough");
        assert!(none.groups(&uniform(8, 7_500), LIMITS).is_empty(), "all are omitted");
    }

    fn sizes() -> impl Strategy<Value = ConversationSize> {
        let turn = (0..300_u64, prop::collection::vec(0..400_u64, 0..3))
            .prop_map(|(reply, results)| TurnSize { reply, results, repair: 0 });
        prop::collection::vec(turn, 0..60).prop_map(|turns| ConversationSize {
            first: 50,
            turns,
            scale: TokenScale::default(),
        })
    }

    proptest! {
        /// Whatever a compactor says: a cut grows, spares what it may not choose, and frees as much as without it.
        #[test]
        fn a_choice_does_no_harm(
            size in sizes(), answers in prop::collection::vec(prop::collection::vec(0..25_u32, 0..25), 60), keeps: u64
        ) {
            let limits = ContextLimits { context_window: 3_000, max_output: 300 };
            let mut cut = ContextCut::default();
            for (known, named) in (1..=size.turns.len()).zip(&answers) {
                let size = ConversationSize { turns: size.turns[..known].to_vec(), ..size.clone() };
                let (next, groups) = (cut.next(&size, limits), cut.groups(&size, limits));
                prop_assert!(groups.len() <= MAX_GROUPS);
                for turn in groups.iter().flatten() {
                    prop_assert!(*turn <= next.masked_turns && (*turn as usize) < known && !cut.omits(*turn));
                }
                let mut named: Vec<u32> = named.iter().copied().filter(|one| (1..=groups.len()).contains(&(*one as usize))).collect();
                named.sort_unstable();
                named.dedup();
                let (keep, evict) = named.iter().partition::<Vec<u32>, _>(|one| (keeps >> **one) & 1 == 1);
                let text = format!(r#"{{"keep_groups": {keep:?}, "evict_groups": {evict:?}}}"#);
                let choice = GroupChoice::read(&text, groups.len()).unwrap();
                let chosen = if groups.is_empty() { next.clone() } else { cut.chosen(&size, limits, &choice) };
                prop_assert!(size.tokens(&chosen) <= size.tokens(&next).max(limits.goal()));
                prop_assert_eq!(chosen.masked_turns, next.masked_turns);
                for turn in 1..=u32::try_from(known).unwrap() {
                    prop_assert!(!cut.omits(turn) || chosen.omits(turn), "{cut:?} {chosen:?}");
                    prop_assert!(cut.omits(turn) == chosen.omits(turn) || groups.concat().contains(&turn) || chosen == next);
                }
                // A cut has one form, whatever led to it.
                let omitted = (1..=chosen.omitted_turns).filter(|turn| chosen.omits(*turn));
                let mut same = ContextCut::default().masking(chosen.masked_turns);
                omitted.clone().for_each(|turn| same.omit(turn));
                prop_assert_eq!(&same, &chosen);
                let gaps = omitted.clone().filter(|turn| *turn == 1 || !chosen.omits(turn - 1)).count();
                prop_assert_eq!(gaps, chosen.gaps());
                cut = chosen;
            }
        }
    }
}
