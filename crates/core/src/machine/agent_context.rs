//! The sizes of an agent's conversation, from its facts: what is cut from the next request, and what that may use.

use crate::machine::state::budget_limits::BUDGET_SPENT_PREFIX;
use crate::machine::state::{Machine, TaskIx};
use crate::machine::words::{ModelCallStart, WorkExit};
use wf_model::{EngineFailure, FailureClass};

impl Machine {
    /// Returns the exit of an agent that may not make its next model call.
    pub(in crate::machine) fn call_obstacle(&self, task: TaskIx, start: &ModelCallStart) -> Option<WorkExit> {
        let (work, record) = (self.agent_work(task)?, self.agent_record(task)?);
        let logical = |reason| WorkExit::Error { reason, failure_class: FailureClass::Logical };
        if record.call() >= work.max_turns && start.repairs.is_none() {
            let most = work.max_turns;
            return Some(logical(format!(
                "the agent made {most} model calls, its `max_turns`, without an answer"
            )));
        }
        let reserve = record.reserve(start);
        let tokens = reserve.tokens;
        let window = record.limits.context_window;
        if tokens > window {
            return Some(logical(format!(
                "the next model call may need {tokens} tokens, and the context window of the model has {window}: \
                 give it a shorter briefing or less to read at once, or take a model with a larger window"
            )));
        }
        let finally = self.plan.is_finally(task.ix());
        let short = self.shortage(reserve, self.open_reserves(), finally);
        let failure_class = EngineFailure::Budget.class();
        short.map(|reason| WorkExit::Error {
            reason: format!("{BUDGET_SPENT_PREFIX}: {reason}; {}", EngineFailure::Budget.remedy()),
            failure_class,
        })
    }
}
