use super::ContextCut;

/// The most tokens of a masked result. Shorter results are not masked.
pub(super) const MASK_TOKENS: u64 = 60;

/// The most tokens of a message in place of omitted turns.
pub(super) const OMISSION_TOKENS: u64 = 60;

/// The sizes of a conversation, from which its cut follows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConversationSize {
    /// The estimated tokens of the first request.
    pub(crate) first: u64,
    /// The turns, oldest first.
    pub(crate) turns: Vec<TurnSize>,
    /// The provider's count of the last request.
    pub(crate) scale: TokenScale,
}

/// The estimated tokens of a turn: a reply and what followed it.
#[derive(Clone, Debug, Default)]
pub(crate) struct TurnSize {
    pub(crate) reply: u64,
    /// The results of its tool calls, in order.
    pub(crate) results: Vec<u64>,
    /// The mistake the model was asked to repair.
    pub(crate) repair: u64,
}

/// The tokens of one request, as estimated and as its provider counted them. A text whose tokens are shorter than
/// estimated, such as one that is not English, makes all further ones larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenScale {
    pub(crate) estimated: u64,
    pub(crate) counted: u64,
}

/// True if a result of this size is masked where results are.
pub(super) fn is_maskable(tokens: u64) -> bool {
    tokens > MASK_TOKENS
}

impl ConversationSize {
    /// Returns the tokens of the request after a cut, by the provider's scale.
    pub(crate) fn tokens(&self, cut: &ContextCut) -> u64 {
        self.scale.apply(self.estimate(self.turns.len(), cut))
    }

    /// Returns the estimated tokens of the request after some first turns and a cut.
    pub(crate) fn estimate(&self, turns: usize, cut: &ContextCut) -> u64 {
        let notes = OMISSION_TOKENS.saturating_mul(cut.gaps() as u64);
        let sent = (1..).zip(self.turns.iter().take(turns)).filter(|(turn, _)| !cut.omits(*turn));
        let sizes = sent.map(|(turn, size)| size.tokens(turn <= cut.masked_turns));
        sizes.fold(self.first.saturating_add(notes), u64::saturating_add)
    }
}

impl TurnSize {
    fn tokens(&self, masked: bool) -> u64 {
        let results = self.results.iter().map(|tokens| match tokens {
            tokens if masked && is_maskable(*tokens) => MASK_TOKENS,
            tokens => *tokens,
        });
        results.fold(self.reply.saturating_add(self.repair), u64::saturating_add)
    }
}

impl TokenScale {
    /// Scales an estimate up, rounding up. It never scales down: a count also excludes what a provider does not bill.
    pub(crate) fn apply(self, tokens: u64) -> u64 {
        if self.counted <= self.estimated || self.estimated == 0 {
            return tokens;
        }
        let scaled = (u128::from(tokens) * u128::from(self.counted)).div_ceil(u128::from(self.estimated));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}
