use std::fmt;

use serde::{Deserialize, Serialize};

use super::ConversationSize;

/// The last turns that stay complete (Silas 11: `observation_mask_after_turns`), and fewer if they are too long.
pub(super) const COMPLETE_TURNS: [u32; 3] = [5, 2, 1];

/// The part of a conversation that is not sent any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ContextCut {
    /// The first turns whose long results are masked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked_turns: u32,
    /// The first turns that are omitted; no more than those that are masked.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_turns: u32,
}

/// The tokens that a conversation may have.
#[derive(Clone, Copy, Debug)]
pub struct ContextLimits {
    /// The tokens that a request and its reply may take together.
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

    /// Returns the tokens that a cut leaves if it can: half of the window, or less.
    fn goal(self) -> u64 {
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
    pub(crate) fn next(self, size: &ConversationSize, limits: ContextLimits) -> Self {
        let fits = |cut: &Self| size.tokens(*cut) <= limits.most();
        if fits(&self) {
            return self;
        }
        let turns = u32::try_from(size.turns.len()).unwrap_or(u32::MAX);
        let masked = COMPLETE_TURNS.map(|complete| self.masking(turns.saturating_sub(complete)));
        // What saves little would be due again soon, and so would change the beginning of each request.
        let goal = limits.goal();
        let mut cuts = masked.into_iter().flat_map(|cut| [cut, cut.omitting(size, goal)]);
        let cut = cuts.find(|cut| size.tokens(*cut) <= goal);
        // If nothing reaches the goal, the newest turn is most of the request, and those before it stay if they can.
        let cut = cut.or_else(|| masked.into_iter().find(fits));
        cut.unwrap_or_else(|| self.masking(turns.saturating_sub(1)).omitting(size, 0))
    }

    fn masking(self, turns: u32) -> Self {
        Self { masked_turns: self.masked_turns.max(turns), ..self }
    }

    /// Omits masked turns, oldest first, until the goal is reached, or all.
    fn omitting(self, size: &ConversationSize, goal: u64) -> Self {
        let cut = |omitted_turns| Self { omitted_turns, ..self };
        let mut wider = (self.omitted_turns..self.masked_turns).map(cut);
        wider.find(|cut| size.tokens(*cut) <= goal).unwrap_or_else(|| cut(self.masked_turns))
    }
}

/// Formats as `long results of the first 12 turns masked, the first 3 turns omitted`.
impl fmt::Display for ContextCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turns = |count: u32| match count {
            1 => "first turn".to_owned(),
            count => format!("first {count} turns"),
        };
        write!(f, "long results of the {} masked", turns(self.masked_turns))?;
        match self.omitted_turns {
            0 => Ok(()),
            omitted => write!(f, ", the {} omitted", turns(omitted)),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
