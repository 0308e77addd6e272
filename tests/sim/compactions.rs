//! The compactor of agents: what it says, and what a list of events says about it.

use wf_base::{name::Name, time::Moment};
use wf_core::{
    agent::ContextCut,
    machine::{
        AttemptUsage, CompactionEnd, CompactionOutcome, CompactionReply, CompactionRequest, CompactionStart,
        CompactorLimits, InputKind,
    },
};
use wf_model::{ModelPrice, Money, TokenUsage};

use super::{dice::Dice, world::World};

/// What is known about the compactor of an agent.
#[derive(Clone, Debug, Default)]
pub struct Compaction {
    /// What a call of it may use; `None`: there is none.
    pub limits: Option<CompactorLimits>,
    /// The last call about which it was asked, and the groups.
    pub asked: Option<(u32, Vec<Vec<u32>>)>,
    /// What it chose, once it has answered.
    pub said: Option<CompactionOutcome>,
}

/// What is known about its failures in a run.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    pub in_a_row: u32,
    pub last: Option<Moment>,
}

impl Compaction {
    pub fn start(&mut self, start: &CompactionStart) {
        self.asked = Some((start.call, start.groups.clone()));
        self.said = None;
    }

    /// Whether it is asked about a call, and has not answered.
    pub fn is_open(&self, call: u32) -> bool {
        self.said.is_none() && self.asked.as_ref().is_some_and(|(asked, _)| *asked == call)
    }

    /// What it may use that is asked.
    pub fn open_reserve(&self) -> Option<AttemptUsage> {
        self.asked.as_ref().filter(|_| self.said.is_none())?;
        Some(self.reserve())
    }

    /// What a call of it may use.
    pub fn reserve(&self) -> AttemptUsage {
        let Some(limits) = &self.limits else {
            return AttemptUsage::default();
        };
        let (input, output) = (limits.max_input, limits.max_output);
        let cost = limits.price.map_or(Money::default(), |price| price.highest_cost(input, output));
        AttemptUsage { attempts: 0, tokens: input + output, cost }
    }

    /// The cut that it chose for a call.
    pub fn chosen(&self, call: u32) -> Option<&ContextCut> {
        self.asked.as_ref().filter(|(asked, _)| *asked == call)?;
        match &self.said {
            Some(CompactionOutcome::Chosen { context, .. }) => Some(context),
            _ => None,
        }
    }
}

impl Failures {
    pub fn take(&mut self, end: &CompactionEnd, at: Moment) {
        match end.outcome {
            CompactionOutcome::Chosen { .. } => *self = Self::default(),
            CompactionOutcome::Failed { .. } => (self.in_a_row, self.last) = (self.in_a_row + 1, Some(at)),
        }
    }
}

/// The compactor of an agent, if its workspace has one.
pub fn limits(dice: &Dice, price: ModelPrice) -> Option<CompactorLimits> {
    let mut dice = Dice::of(dice.0, "compactor");
    let limits = CompactorLimits {
        model: Name::parse("small").expect("a name"),
        max_input: 20,
        max_output: 5,
        price: dice.one_in(2).then_some(price),
    };
    (!dice.one_in(4)).then_some(limits)
}

/// The answer of a compactor: one that chooses well, one that forgets groups, and trash.
fn answer(dice: &mut Dice, groups: usize) -> Result<String, String> {
    let numbers: Vec<usize> = (1..=groups).collect();
    let bad = |text: &str| Ok(text.to_owned());
    match dice.below(12) {
        0 => Err("it did not answer within 2s".into()),
        1 => Err("it is overloaded".into()),
        2 => bad("keep them all"),
        3 => bad(r#"{"keep_groups": [1], "evict_groups": [1]}"#),
        4 => bad(r#"{"keep_groups": [9999], "evict_groups": []}"#),
        5 => bad(r#"{"keep_groups": [], "evict_groups": []}"#),
        6 => Ok(format!(r#"{{"keep_groups": {numbers:?}, "evict_groups": []}}"#)),
        _ => {
            let (keep, evict): (Vec<usize>, Vec<usize>) = numbers.iter().partition(|_| dice.one_in(2));
            Ok(format!(r#"{{"keep_groups": {keep:?}, "evict_groups": {evict:?}}}"#))
        }
    }
}

impl World {
    /// What comes of asking the compactor: a matter of the fates. It never takes more than was kept for it.
    pub fn compacted(&self, at: usize, request: CompactionRequest, stop: bool) -> InputKind {
        let CompactionRequest { start, groups } = request;
        let what = format!("compaction {} of {}", start.call, start.attempt);
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &what);
        let agent = self.runs[at].durable.agents.at(&start.attempt.task_id);
        // A compactor may fail for long.
        let fails = Dice::of(self.fates.0, &format!("compactor of {}", start.attempt)).one_in(4);
        let said = if stop {
            Err("it was stopped".into())
        } else if fails {
            Err("it did not answer within 2s".into())
        } else {
            answer(&mut dice, groups.len())
        };
        let tokens = u64::from(dice.up_to(20));
        let price = agent.compaction.limits.as_ref().and_then(|limits| limits.price);
        let cost = price
            .map(|price| price.cost(TokenUsage { input: tokens, ..TokenUsage::default() }))
            .unwrap_or_default();
        let usage = AttemptUsage { attempts: 0, tokens, cost };
        InputKind::Compacted(Box::new(CompactionReply { start, said, asked: None, usage }))
    }
}
