//! The sizes of an agent's conversation, from its facts: the cut of the next request, and its reserve.

use crate::{
    agent::{
        ContextCut, ContextLimits, ConversationSize, GroupChoice, TokenScale, TurnSize, estimate_tokens,
    },
    machine::words::{
        AgentRecord, AgentTurn, AttemptUsage, ClientCall, CompactorLimits, ModelCallEnd, ModelCallOutcome,
        ModelCallStart, ToolRecord,
    },
};

impl AgentRecord {
    /// Returns the cut of the conversation in the next call. A program of its own cuts its
    /// conversation itself.
    pub(in crate::machine) fn next_context(&self, start: &ModelCallStart) -> ContextCut {
        if self.engine.is_client() {
            return ContextCut::default();
        }
        let compaction = self.compaction.as_ref().filter(|known| known.call == start.call);
        if let Some(chosen) = compaction.and_then(|known| known.context()) {
            return chosen.clone();
        }
        self.last_context().next(&self.next_size(start), self.context_limits(start))
    }

    /// Returns the groups of turns for the next cut: some are omitted, and not all.
    pub(in crate::machine) fn groups(&self, start: &ModelCallStart) -> Vec<Vec<u32>> {
        self.last_context().groups(&self.next_size(start), self.context_limits(start))
    }

    /// Returns the next cut, with the choice of a compactor.
    pub(in crate::machine) fn chosen(&self, start: &ModelCallStart, choice: &GroupChoice) -> ContextCut {
        self.last_context().chosen(&self.next_size(start), self.context_limits(start), choice)
    }

    /// Returns the most a call may use, for any choice of a compactor.
    pub(in crate::machine) fn reserve_after_compaction(&self, start: &ModelCallStart) -> AttemptUsage {
        let input = self.next_size(start).tokens(&start.context);
        let input = input.max(self.context_limits(start).goal()).saturating_add(self.added_to(start));
        self.usage_of(input, self.limits.max_output)
    }

    fn last_context(&self) -> ContextCut {
        self.turns.last().map_or(ContextCut::default(), |turn| turn.context.clone())
    }

    fn next_size(&self, start: &ModelCallStart) -> ConversationSize {
        self.size(&self.turns, start.repairs.as_deref())
    }

    fn context_limits(&self, start: &ModelCallStart) -> ContextLimits {
        let (context_window, max_output) = (self.limits.context_window, self.limits.max_output);
        let context_window = context_window.saturating_sub(self.added_to(start));
        ContextLimits { context_window, max_output }
    }

    /// Returns the reserve of the next call.
    pub(in crate::machine) fn reserve(&self, start: &ModelCallStart) -> AttemptUsage {
        let input = self.input_of(start).saturating_add(self.added_to(start));
        self.usage_of(input, self.output_of(start.client))
    }

    /// Returns the tokens added to the next call by gates.
    fn added_to(&self, start: &ModelCallStart) -> u64 {
        if self.admits(start) { self.supplement.tokens() } else { 0 }
    }

    /// Returns the estimated tokens of the request of the next call.
    pub(in crate::machine) fn input_of(&self, start: &ModelCallStart) -> u64 {
        match start.client {
            Some(client) => client.input,
            None => self.next_size(start).tokens(&start.context),
        }
    }

    /// Returns the reserve of the call under way, if there is one: a call of the compactor comes before its own.
    pub(in crate::machine) fn open_reserve(&self) -> Option<AttemptUsage> {
        self.open_compaction().or_else(|| self.open_call())
    }

    fn open_compaction(&self) -> Option<AttemptUsage> {
        let open = self.compaction.as_ref().is_some_and(|known| known.is_open());
        (open && self.exit.is_none()).then(|| self.compaction_reserve())
    }

    /// Returns the reserve of a question to the compactor: nothing if there is none.
    pub(in crate::machine) fn compaction_reserve(&self) -> AttemptUsage {
        self.compactor.as_ref().map_or(AttemptUsage::default(), CompactorLimits::reserve)
    }

    fn open_call(&self) -> Option<AttemptUsage> {
        let (open, before) = self.turns.split_last()?;
        if self.exit.is_some() || open.outcome.is_some() {
            return None;
        }
        let own = || self.size(before, open.repairs.as_deref()).tokens(&open.context);
        let input = open.client.map_or_else(own, |client| client.input);
        let input = input.saturating_add(open.supplement.tokens());
        Some(self.usage_of(input, self.output_of(open.client)))
    }

    /// Returns the longest reply to a request.
    fn output_of(&self, client: Option<ClientCall>) -> u64 {
        client.map_or(self.limits.max_output, |client| client.max_output)
    }

    fn usage_of(&self, input: u64, output: u64) -> AttemptUsage {
        let cost = self.limits.price.map(|price| price.highest_cost(input, output)).unwrap_or_default();
        AttemptUsage { attempts: 0, tokens: input.saturating_add(output), cost }
    }

    /// Returns the size of a conversation. For a program of its own, it begins with its last request.
    fn size(&self, turns: &[AgentTurn], repairs: Option<&str>) -> ConversationSize {
        let mut first = self.limits.first_input;
        let mut turns = turns;
        if let Some(at) = turns.iter().rposition(|turn| turn.client.is_some())
            && let Some((_, rest)) = turns.split_at_checked(at)
        {
            first = rest.first().and_then(|turn| turn.client).map_or(first, |client| client.input);
            turns = rest;
        }
        // A mistake is a part of the turn whose answer has it.
        let later = turns.iter().skip(1).map(|turn| turn.repairs.as_deref());
        let repairs = later.chain([repairs]);
        let sizes = turns.iter().zip(repairs).map(|(turn, repairs)| turn.size(repairs));
        let mut size = ConversationSize { first, turns: sizes.collect(), scale: TokenScale::default() };
        if let Some(at) = turns.iter().rposition(|turn| turn.counted_input > 0)
            && let Some(turn) = turns.get(at)
        {
            let estimated = size.estimate(at, &turn.context);
            size.scale = TokenScale { estimated, counted: turn.counted_input };
        }
        size
    }
}

impl AgentTurn {
    /// Applies the end of its model call.
    pub(in crate::machine) fn end_call(&mut self, end: &ModelCallEnd) {
        let replied = matches!(end.outcome, ModelCallOutcome::Replied { .. });
        // With several requests, their sum is known.
        let counted = if replied && end.effort.requests == 1 { end.effort.usage.input } else { 0 };
        self.counted_input = counted.saturating_sub(self.supplement.tokens());
        self.outcome = Some(end.outcome.clone());
    }

    fn size(&self, repairs: Option<&str>) -> TurnSize {
        let reply = match self.outcome {
            Some(ModelCallOutcome::Replied { reply_tokens, .. }) => reply_tokens,
            _ => 0,
        };
        let results = self.tools.iter().map(|tool| match tool {
            ToolRecord::Ended { tokens, .. } => *tokens,
            ToolRecord::Refused(reason) => estimate_tokens(reason),
            ToolRecord::Started => 0,
        });
        TurnSize { reply, results: results.collect(), repair: repairs.map_or(0, estimate_tokens) }
    }
}
