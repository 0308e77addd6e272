//! The loop of an agent: a model call, the tool calls that it asks for, and again, until the model answers.
//!
//! **Invariant:** no call is made before the fact that it begins is durable. **Invariant:** a call whose end is
//! recorded is never made again. **Invariant:** a tool call that was refused is never executed. **Invariant:** a
//! model call begins only where its reserve fits the budget beside those of the calls under way, so limits are kept as
//! far as reserves are right. **Invariant:** an agent ends once nothing that it asked for is under way.

use crate::agent::ContextCut;
use crate::machine::agents::tool_approval::ToolEntry;
use crate::machine::state::budget_limits::BUDGET_SPENT_PREFIX;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::{Run, TaskIx};
use crate::machine::words::agents::agent_record::AgentStep;
use crate::machine::words::{
    AgentBriefing, AgentExit, AgentRecord, AgentTurn, Attempt, Effect, EventKind, GatePoint, ModelCallEnd,
    ModelCallStart, TimerKind, ToolCallEnd, ToolCallId, ToolCallRefusal, ToolCallStart, WorkExit,
};
use wf_base::digest::Sha256Digest;
use wf_model::{EngineFailure, FailureClass};

impl Run {
    /// Waits for the briefing of an agent that begins, or goes on after a resume.
    pub(in crate::machine) fn await_briefing(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        since: wf_base::time::Moment,
    ) {
        if self.agent_work(task).is_none() {
            return;
        }
        self.flight.set(task, Some(TaskRequest::Briefing));
        self.agent_timer(task, attempt, since);
    }

    /// Sets the timer of an agent that began at an instant.
    fn agent_timer(&mut self, task: TaskIx, attempt: &Attempt, since: wf_base::time::Moment) {
        if let Some(limit) = self.plan.step(task.ix()).timeout {
            let waited = self.waited(task);
            self.set_timer(TimerKind::Agent(attempt.clone()), since.after(waited).after(limit));
        }
    }

    /// Lets an agent begin, or go on after a resume; `mistake` is the one in its last answer.
    pub(in crate::machine) fn on_briefing(&mut self, briefing: AgentBriefing, mistake: Option<String>) {
        let attempt = briefing.attempt.clone();
        let Some(task) = self.working_agent(&attempt) else {
            return;
        };
        if self.flight.request(task) != Some(TaskRequest::Briefing) {
            return;
        }
        self.flight.set(task, None);
        if self.agent_record(task).is_none() {
            self.emit(EventKind::AgentBriefed(Box::new(briefing)));
        }
        // The program of an agent died with its engine, and with it the request that it waited for.
        if let Some(end) = self.lost_call(task, &attempt) {
            self.emit(EventKind::ModelCallEnded(Box::new(end)));
        }
        // What was under way when the engine died is asked for again, unless it shall end.
        match self.agent_record(task).map(AgentRecord::next_step) {
            Some(AgentStep::AwaitModel | AgentStep::AwaitTool(_))
                if let Some(exit) = self.forced_exit(task) =>
            {
                self.end_agent(&attempt, exit, None);
            }
            Some(AgentStep::AwaitModel) => self.call_model(task, &attempt),
            Some(AgentStep::AwaitTool(position)) => self.call_tool(task, &attempt, position),
            _ => self.advance_agent(task, &attempt, mistake),
        }
    }

    /// Applies the end of a model call; `mistake` is the one in its answer.
    pub(in crate::machine) fn on_model_reply(&mut self, end: ModelCallEnd, mistake: Option<String>) {
        let Some(task) = self.awaiting_agent(&end.attempt) else {
            return;
        };
        let record = self.agent_record(task);
        let open = record
            .is_some_and(|record| record.next_step() == AgentStep::AwaitModel && record.call() == end.call);
        if open {
            let attempt = end.attempt.clone();
            self.emit(EventKind::ModelCallEnded(Box::new(end)));
            self.advance_agent(task, &attempt, mistake);
        }
    }

    /// Applies the end of a tool call.
    pub(in crate::machine) fn on_tool_end(&mut self, end: ToolCallEnd) {
        let Some(task) = self.awaiting_agent(&end.id.attempt) else {
            return;
        };
        let record = self.agent_record(task);
        let open = record.is_some_and(|record| {
            record.next_step() == AgentStep::AwaitTool(end.id.position) && record.call() == end.id.call
        });
        if open {
            let attempt = end.id.attempt.clone();
            let waited = self.waited(task);
            self.emit(EventKind::ToolCallEnded(end));
            // A wait for child runs does not count.
            if let Some(activity) = self.state.activity(task).filter(|_| self.waited(task) != waited) {
                self.agent_timer(task, &attempt, activity.since);
            }
            self.advance_agent(task, &attempt, None);
        }
    }

    /// Stops what an agent does whose time is over. The answer ends it, so that what a call used is counted, and
    /// nothing is collected while a tool still works.
    pub(in crate::machine) fn on_agent_timeout(&mut self, attempt: Attempt) {
        let Some(task) = self.working_agent(&attempt) else {
            return;
        };
        if self.is_agent_late(task) && !self.is_agent_done(task) && self.flight.overdue.insert(task) {
            self.turn.effects.push(Effect::Kill { attempt: Some(attempt), force: false });
        }
    }

    /// Returns the exit of an attempt's work; `None` if it cannot end now. That of an agent ends when what it left is
    /// collected, or before it is briefed: if it was stopped then, its time may have been over.
    pub(in crate::machine) fn work_exit(&self, task: TaskIx, exit: WorkExit) -> Option<WorkExit> {
        if self.agent_work(task).is_none() || self.is_agent_done(task) {
            return Some(exit);
        }
        let briefing = self.flight.request(task) == Some(TaskRequest::Briefing);
        let forced = self.forced_exit(task).filter(|_| exit == WorkExit::Cancelled);
        briefing.then(|| forced.unwrap_or(exit))
    }

    /// True if the exit of an agent is recorded.
    fn is_agent_done(&self, task: TaskIx) -> bool {
        self.agent_record(task).is_some_and(|record| record.exit.is_some())
    }

    /// Returns the exit of an agent that may not go on, whatever it would do next.
    pub(in crate::machine) fn forced_exit(&self, task: TaskIx) -> Option<WorkExit> {
        if self.is_halting(task) {
            return Some(WorkExit::Cancelled);
        }
        self.is_agent_late(task).then_some(WorkExit::TimedOut)
    }

    /// True if the time of an agent is over. It does not pass while the agent waits for child runs.
    fn is_agent_late(&self, task: TaskIx) -> bool {
        let since = self.state.activity(task).map(|activity| activity.since);
        let limit = self.plan.step(task.ix()).timeout;
        let waited = self.waited(task);
        if self.agent_record(task).is_some_and(|record| record.collecting_since.is_some()) {
            return false;
        }
        since.zip(limit).is_some_and(|(since, limit)| since.after(waited).after(limit) <= self.now)
    }

    /// Takes the steps of an agent that need no answer from outside, and the first that does.
    pub(in crate::machine) fn advance_agent(
        &mut self,
        task: TaskIx,
        attempt: &Attempt,
        mistake: Option<String>,
    ) {
        loop {
            let Some(record) = self.agent_record(task) else {
                return;
            };
            let (step, call) = (record.next_step(), record.call());
            let answer = record.answer;
            let stays = matches!(&step, AgentStep::End(own) if *own != WorkExit::Cancelled);
            if let Some(exit) = self.forced_exit(task).filter(|_| !stays && !self.is_agent_done(task)) {
                return self.end_agent(attempt, exit, None);
            }
            if self.gate_news(task, attempt, None) {
                return;
            }
            match step {
                AgentStep::AwaitModel | AgentStep::AwaitTool(_) => return,
                AgentStep::Tool(position, requested) => {
                    let id = ToolCallId { attempt: attempt.clone(), call, position };
                    let tool = requested.tool.clone();
                    match self.tool_entry(task, &requested) {
                        ToolEntry::Refused(reason) => {
                            self.emit(EventKind::ToolCallRefused(ToolCallRefusal { id, tool, reason }));
                        }
                        ToolEntry::Asked => {
                            self.flight.set(task, Some(TaskRequest::ToolGates));
                            return self.ask_gates(Some(task), GatePoint::Call);
                        }
                        ToolEntry::Free => return self.begin_tool(task, ToolCallStart { id, tool }),
                    }
                }
                AgentStep::Call => return self.begin_call(task, ModelCallStart::after(attempt, call, None)),
                AgentStep::Serve => return self.serve_client(task, attempt),
                AgentStep::Judge => return self.judge_answer(task, attempt, mistake),
                AgentStep::End(exit) => return self.end_agent(attempt, exit, answer),
            }
        }
    }

    /// Begins a tool call. A program of its own executes what it is given, once the reply reaches it.
    pub(in crate::machine) fn begin_tool(&mut self, task: TaskIx, start: ToolCallStart) {
        let (attempt, position) = (start.id.attempt.clone(), start.id.position);
        self.emit(EventKind::ToolCallStarted(start));
        if self.agent_record(task).is_some_and(|record| record.engine.is_client()) {
            return self.advance_agent(task, &attempt, None);
        }
        self.call_tool(task, &attempt, position);
    }

    /// Accepts the answer of a model, or lets it be repaired once (Silas 5.1.0).
    fn judge_answer(&mut self, task: TaskIx, attempt: &Attempt, mistake: Option<String>) {
        let repaired = self.agent_record(task).is_some_and(AgentRecord::has_repaired);
        match mistake {
            None => self.end_agent(attempt, WorkExit::Completed, None),
            Some(mistake) if !repaired => {
                let call = self.agent_record(task).map_or(0, AgentRecord::call);
                self.begin_call(task, ModelCallStart::after(attempt, call, Some(mistake)));
            }
            Some(mistake) => {
                let reason = format!("the model's answer is invalid, also after its repair: {mistake}");
                self.end_agent(
                    attempt,
                    WorkExit::Error { reason, failure_class: FailureClass::Logical },
                    None,
                );
            }
        }
    }

    /// Begins the next model call, unless the limits of the agent or the budget do not allow it.
    pub(in crate::machine) fn begin_call(&mut self, task: TaskIx, mut start: ModelCallStart) {
        let attempt = start.attempt.clone();
        let context = self.agent_record(task).map(|record| record.next_context(&start));
        start.context = context.unwrap_or_default();
        if let Some(exit) = self.call_obstacle(task, &start) {
            return self.end_agent(&attempt, exit, None);
        }
        if self.ask_compactor(task, &start) || self.gate_news(task, &attempt, Some(&start)) {
            return;
        }
        self.emit(EventKind::ModelCallStarted(start));
        self.call_model(task, &attempt);
    }

    fn call_model(&mut self, task: TaskIx, attempt: &Attempt) {
        let Some(record) = self.agent_record(task) else {
            return;
        };
        let mut turns = record.turns.iter().rev();
        let open = turns.next();
        let repairs = open.and_then(|turn| turn.repairs.clone());
        let context = open.map_or(ContextCut::default(), |turn| turn.context.clone());
        // A program of its own was told of refusals with the reply.
        let continues = open.is_some_and(|turn| turn.client.is_none());
        let before = turns.next().filter(|_| continues);
        let refusals = before.map(AgentTurn::refusals).unwrap_or_default();
        let (attempt, call) = (attempt.clone(), record.call());
        let supplement = open.map(|turn| turn.supplement.clone()).unwrap_or_default();
        let supplement = Box::new(supplement);
        self.turn.effects.push(Effect::CallModel { attempt, call, repairs, refusals, context, supplement });
    }

    /// Executes a tool call, or lets it wait for child runs.
    pub(in crate::machine) fn call_tool(&mut self, task: TaskIx, attempt: &Attempt, position: u32) {
        let Some(record) = self.agent_record(task) else {
            return;
        };
        let id = ToolCallId { attempt: attempt.clone(), call: record.call(), position };
        let waited_ms = record.waited_ms;
        let answer = record.person_answer.clone().map(Box::new);
        let mut children = None;
        if let Some(request) = record.child_request(position).cloned() {
            let Some(report) = self.answer_child_request(task, &id, &request) else {
                return;
            };
            children = Some(Box::new(report));
        }
        let untrusted = self.state.task_record(task).is_some_and(|record| record.untrusted.is_some());
        self.turn.effects.push(Effect::CallTool { id, waited_ms, children, answer, untrusted });
    }

    /// Ends an agent, once its child runs have ended; `answer` is the digest of the answer of a program of its own.
    pub(in crate::machine) fn end_agent(
        &mut self,
        attempt: &Attempt,
        exit: WorkExit,
        answer: Option<Sha256Digest>,
    ) {
        let task = self.task_ix(&attempt.place);
        let record = task.and_then(|task| self.agent_record(task));
        if record.is_some_and(|record| record.exit.is_none()) {
            let (attempt, exit) = (attempt.clone(), exit.clone());
            self.emit(EventKind::AgentEnded(AgentExit { attempt, exit, answer }));
        }
        if task.is_some_and(|task| self.stop_children(task, attempt)) {
            return;
        }
        let untrusted = task.and_then(|task| self.state.task_record(task)?.untrusted.clone());
        self.turn.effects.push(Effect::EndAgent { attempt: attempt.clone(), exit, answer, untrusted });
    }

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
