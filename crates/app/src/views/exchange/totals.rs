//! The cost of a conversation, its share of the budget, and the files that it wrote.

use std::collections::BTreeMap;

use serde::Serialize;

use super::page::ExchangeScope;
use wf_base::units::{elapsed, plural};
use wf_core::{agent::ModelReply, machine::ModelCallOutcome};
use wf_model::TokenUsage;
use wf_report::{
    draw::{CostBar, MAX_COST_BARS, cost_svg},
    record::{AgentCalls, ModelCallRecord, RunRecord, ToolCallRecord, ToolCallText},
};

/// The most replies that are read for the files that they write.
const MAX_READ_REPLIES: usize = 200;
/// The most files, and the most turns of a file.
const MAX_FILES: usize = 100;
const MAX_TURNS_OF_FILE: usize = 10;

/// The sums of a conversation.
#[derive(Debug, Serialize)]
pub struct ExchangeTotals {
    pub turns: usize,
    pub tool_calls: usize,
    /// The tool calls that failed, were refused or withheld.
    pub failed_tool_calls: usize,
    pub usage: TokenUsage,
    pub cost_micro_usd: u64,
    /// The time in which the model was waited for.
    pub model_ms: u64,
    /// The time in which tools worked.
    pub tool_ms: u64,
    pub shares: Vec<BudgetShare>,
    pub context: Option<ContextUse>,
    /// The cost of each turn as a picture, or its tokens where nothing has a price.
    pub svg: Option<String>,
}

/// The part of a limit of the run that the conversation used.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BudgetShare {
    /// The resource: `cost` or `tokens`.
    pub resource: &'static str,
    pub used: u64,
    pub limit: u64,
    /// The used part in percent, rounded down.
    pub percent: u64,
}

/// The part of the window of the model that the last request took.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ContextUse {
    pub tokens: u64,
    pub window: u64,
    pub percent: u64,
}

/// A file that was written.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct WrittenFile {
    pub path: String,
    pub added: usize,
    pub removed: usize,
    /// The first turns that wrote it.
    pub turns: Vec<usize>,
}

/// The files that tool calls wrote, by path. What scripts wrote is not known here.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct WrittenFiles {
    pub files: Vec<WrittenFile>,
    /// The number of other files.
    pub more: usize,
    /// The number of turns that were not looked through.
    pub unread_turns: usize,
}

impl ExchangeTotals {
    /// Returns the sums of all turns.
    pub(super) fn of_calls(calls: &AgentCalls, record: &RunRecord, window: Option<u64>) -> Self {
        let (usage, cost) = (calls.usage(), calls.cost().micros());
        let tools = || calls.calls.iter().flat_map(|call| &call.tools);
        let ends = calls.calls.iter().filter_map(|call| call.end.as_ref());
        Self {
            turns: calls.calls.len(),
            tool_calls: calls.tool_count(),
            failed_tool_calls: tools().filter(|tool| tool.is_error).count(),
            usage,
            cost_micro_usd: cost,
            model_ms: ends.map(|end| end.effort.duration_ms).fold(0, u64::saturating_add),
            tool_ms: tools().filter_map(|tool| tool.duration_ms).fold(0, u64::saturating_add),
            shares: shares_of(record, cost, usage.total()),
            context: window.and_then(|window| context_use(calls, window)),
            svg: picture_of(calls),
        }
    }
}

fn shares_of(record: &RunRecord, cost: u64, tokens: u64) -> Vec<BudgetShare> {
    let budget = record.ledger.as_ref().and_then(|ledger| ledger.budget.as_ref());
    let share = |resource, used: u64, limit: u64| BudgetShare {
        resource,
        used,
        limit,
        percent: percent(used, limit),
    };
    let costs = budget.and_then(|budget| budget.max_cost).map(|limit| share("cost", cost, limit.micros()));
    let counts = budget.and_then(|budget| budget.max_tokens).map(|limit| share("tokens", tokens, limit));
    costs.into_iter().chain(counts).collect()
}

fn percent(used: u64, limit: u64) -> u64 {
    let share = (u128::from(used) * 100).checked_div(u128::from(limit)).unwrap_or(100);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Returns the use of the window by the last call that was counted.
fn context_use(calls: &AgentCalls, window: u64) -> Option<ContextUse> {
    let last = calls.calls.iter().rev().find_map(|call| call.end.as_ref())?;
    let tokens = last.effort.usage.total();
    (tokens > 0).then(|| ContextUse { tokens, window, percent: percent(tokens, window) })
}

/// True if something failed in a turn.
pub(super) fn has_failed(call: &ModelCallRecord) -> bool {
    let outcome = call.end.as_ref().map(|end| &end.outcome);
    matches!(outcome, Some(ModelCallOutcome::Failed { .. }))
        || call.repairs.is_some()
        || call.tools.iter().any(|tool| tool.is_error)
}

/// Returns the cost of each turn as a picture; of many turns, several are one bar.
fn picture_of(calls: &AgentCalls) -> Option<String> {
    let has_price = !calls.cost().is_zero();
    let in_a_bar = calls.calls.len().div_ceil(MAX_COST_BARS).max(1);
    let bars = calls.calls.chunks(in_a_bar).enumerate().map(|(at, turns)| {
        let first = at * in_a_bar + 1;
        let sum =
            turns.iter().filter_map(|call| call.end.as_ref()).fold((0, TokenUsage::default()), |sum, end| {
                (sum.0 + end.effort.cost.micros(), sum.1.plus(end.effort.usage))
            });
        let (cost, usage): (u64, TokenUsage) = sum;
        let place = match turns.len() {
            1 => format!("turn {first}"),
            count => format!("turns {first} to {}", first + count - 1),
        };
        let price = if has_price {
            format!("${}.{:06}, ", cost / 1_000_000, cost % 1_000_000)
        } else {
            String::new()
        };
        CostBar {
            amount: if has_price { cost } else { usage.total() },
            has_failed: turns.iter().any(has_failed),
            words: format!("{place}: {price}{} + {} tokens", usage.input, usage.output),
            link: format!("?from={first}#turn-{first}"),
        }
    });
    let bars: Vec<CostBar> = bars.collect();
    let what = if has_price { "cost" } else { "number of tokens" };
    let time = calls.calls.iter().filter_map(|call| call.end.as_ref()).map(|end| end.effort.duration_ms);
    let time = elapsed(std::time::Duration::from_millis(time.fold(0, u64::saturating_add)));
    cost_svg(&format!("The {what} of {} of {time}, by turn", plural(calls.calls.len(), "model call")), &bars)
}

impl WrittenFiles {
    /// Reads the files that successful tool calls wrote.
    pub(super) fn read(scope: &ExchangeScope<'_>) -> Self {
        let mut found: BTreeMap<String, WrittenFile> = BTreeMap::new();
        let (mut more, mut unread_turns, mut read) = (0, 0, 0);
        for (number, call) in (1_usize..).zip(&scope.calls.calls) {
            let Some(digest) = call.reply().filter(|_| call.tools.iter().any(is_done)) else {
                continue;
            };
            if read == MAX_READ_REPLIES {
                unread_turns += 1;
                continue;
            }
            read += 1;
            let Ok(reply) = scope.body::<ModelReply>(&digest) else {
                continue;
            };
            let done = reply.tool_calls.iter().zip(&call.tools).filter(|(_, record)| is_done(record));
            for text in done.map(|(asked_call, _)| ToolCallText::of_call(asked_call)) {
                let Some(path) = text.path.clone() else {
                    continue;
                };
                if found.len() >= MAX_FILES && !found.contains_key(&path) {
                    more += 1;
                    continue;
                }
                let (added, removed) = text.changed_lines();
                let file = found.entry(path.clone()).or_default();
                (file.path, file.added, file.removed) = (path, file.added + added, file.removed + removed);
                if file.turns.len() < MAX_TURNS_OF_FILE && file.turns.last() != Some(&number) {
                    file.turns.push(number);
                }
            }
        }
        Self { files: found.into_values().collect(), more, unread_turns }
    }
}

/// True if a tool call was executed with success.
fn is_done(record: &ToolCallRecord) -> bool {
    record.result.is_some() && !record.is_error
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn a_share_is_rounded_down_and_has_no_limit() {
        assert_eq!((percent(199, 100), percent(999, 1000), percent(0, 5)), (199, 99, 0));
        assert_eq!((percent(u64::MAX, 1), percent(1, 0)), (u64::MAX, 100));
    }
}
