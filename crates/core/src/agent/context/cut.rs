use std::fmt;

use serde::{Deserialize, Serialize};

use crate::agent::context::ConversationSize;

/// The last turns that stay complete (Silas 11: `observation_mask_after_turns`), and fewer if they are too long.
pub(super) const COMPLETE_TURNS: [u32; 3] = [5, 2, 1];

/// The part of a conversation that is not sent any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ContextCut {
    /// The first turns whose long results are masked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked_turns: u32,
    /// The first turns that are omitted, but for those that are kept; no more than those that are masked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_turns: u32,
    /// The turns among them that are sent nevertheless, in order, since a compactor kept them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_turns: Vec<TurnRange>,
}

/// The tokens a conversation may have.
#[derive(Clone, Copy, Debug)]
pub struct ContextLimits {
    /// The tokens a request and its reply may take together.
    pub context_window: u64,
    /// The maximum tokens of a reply.
    pub max_output: u64,
}

impl ContextLimits {
    /// Returns the tokens above which a request is cut: a fifth of the window stays free for errors of the estimate,
    /// and more if the reply may be longer.
    fn most(self) -> u64 {
        let four_fifths = self.context_window - self.context_window.div_ceil(5);
        four_fifths.min(self.context_window.saturating_sub(self.max_output))
    }

    /// Returns the tokens a cut leaves if it can: half of the window, or less.
    pub(crate) fn goal(self) -> u64 {
        self.most() / 8 * 5
    }
}

impl ContextCut {
    /// True if the model gets the whole conversation.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the cut of the next request, after the one of the last. It is the same as long as the request fits. If
    /// none makes it fit, it is the largest: whether a call may be made is not decided here.
    pub(crate) fn next(&self, size: &ConversationSize, limits: ContextLimits) -> Self {
        let fits = |cut: &Self| size.tokens(cut) <= limits.most();
        if fits(self) {
            return self.clone();
        }
        let turns = u32::try_from(size.turns.len()).unwrap_or(u32::MAX);
        let masked = COMPLETE_TURNS.map(|complete| self.masking(turns.saturating_sub(complete)));
        // What saves little would be due again soon, and so would change the beginning of each request.
        let goal = limits.goal();
        let mut cuts = masked.iter().flat_map(|cut| [cut.clone(), cut.omitting(size, goal)]);
        let cut = cuts.find(|cut| size.tokens(cut) <= goal);
        // If nothing reaches the goal, the newest turn is most of the request, and those before it stay if they can.
        let cut = cut.or_else(|| masked.iter().find(|cut| fits(cut)).cloned());
        cut.unwrap_or_else(|| self.masking(turns.saturating_sub(1)).omitting(size, 0))
    }

    pub(super) fn masking(&self, turns: u32) -> Self {
        Self { masked_turns: self.masked_turns.max(turns), ..self.clone() }
    }

    /// Omits masked turns, oldest first, until the goal is reached, or all.
    fn omitting(&self, size: &ConversationSize, goal: u64) -> Self {
        let mut cut = self.clone();
        for turn in self.sent_masked_turns() {
            if size.tokens(&cut) <= goal {
                break;
            }
            cut.omit(turn);
        }
        cut
    }

    /// Returns the turns masked and still sent, oldest first.
    pub(super) fn sent_masked_turns(&self) -> Vec<u32> {
        (1..=self.masked_turns).filter(|turn| !self.omits(*turn)).collect()
    }

    /// True if a turn, counted from 1, is not sent.
    pub fn omits(&self, turn: u32) -> bool {
        turn <= self.omitted_turns && !self.kept_turns.iter().any(|kept| kept.has(turn))
    }

    /// Omits one more turn, counted from 1.
    pub(super) fn omit(&mut self, turn: u32) {
        if turn > self.omitted_turns {
            self.kept_turns.extend(TurnRange::new(self.omitted_turns.saturating_add(1), turn - 1));
            self.omitted_turns = turn;
            return;
        }
        let without = self.kept_turns.iter().flat_map(|kept| kept.without(turn));
        self.kept_turns = without.collect();
    }

    /// Returns the number of places where turns are missing.
    pub(super) fn gaps(&self) -> usize {
        let begins_later = self.kept_turns.first().is_none_or(|kept| kept.first > 1);
        self.kept_turns.len() + usize::from(self.omitted_turns > 0 && begins_later)
    }
}

/// Formats as `long results of the first 12 turns masked, the first 9 turns omitted except 3, 5-7`.
impl fmt::Display for ContextCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = |count: u32| match count {
            1 => "first turn".to_owned(),
            count => format!("first {count} turns"),
        };
        write!(f, "long results of the {} masked", turns(self.masked_turns))?;
        if self.omitted_turns > 0 {
            write!(f, ", the {} omitted", turns(self.omitted_turns))?;
        }
        for (at, kept) in self.kept_turns.iter().enumerate() {
            write!(f, "{}{kept}", if at == 0 { " except " } else { ", " })?;
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Turns in a row, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnRange {
    /// The first one.
    pub first: u32,
    /// The last one.
    pub last: u32,
}

impl TurnRange {
    /// Creates a range; `None` if there is no turn in it.
    pub(super) fn new(first: u32, last: u32) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// True if it has a turn.
    pub fn has(self, turn: u32) -> bool {
        (self.first..=self.last).contains(&turn)
    }

    /// Returns what is left without a turn.
    pub(super) fn without(self, turn: u32) -> impl Iterator<Item = Self> {
        let before = Self::new(self.first, self.last.min(turn.saturating_sub(1)));
        let after = Self::new(self.first.max(turn.saturating_add(1)), self.last);
        before.into_iter().chain(after)
    }
}

/// Formats as `3` or `5-7`.
impl fmt::Display for TurnRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(f, "{}", self.first);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}
