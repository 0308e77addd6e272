//! What gates and people decide about the calls of agents, as a list of events says it.

use wf_base::time::Moment;
use wf_core::machine::{ApprovalRequest, ExchangeGated, GatePoint, RequestDecision};

use super::calls::{Agent, Tool};

impl Agent {
    /// Takes a request to people about one of its calls into account.
    pub fn take_request(&mut self, ask: &ApprovalRequest, at: Moment) {
        let question = ask.tool_call.as_ref().filter(|_| ask.is_question());
        self.questions.extend(question.map(|subject| (subject.call, subject.position)));
        self.asked = Some((ask.clone(), at));
    }

    /// Takes what gates decided about a part of the conversation into account.
    pub fn take_ruling(&mut self, gated: &ExchangeGated) {
        self.news.clear();
        self.passed = None;
        let is_final = gated.point != GatePoint::Result || self.is_client;
        self.barred = gated.blocked.clone().filter(|_| is_final);
        let Some(call) = self.calls.last_mut().filter(|_| gated.point != GatePoint::Request) else {
            self.admitted = gated.call;
            self.supplement = gated.supplement.clone();
            return;
        };
        let Some(position) = gated.position else {
            call.gated = true;
            return;
        };
        call.seen.insert(position);
        if let Some(tool) = call.tools.get_mut(position as usize) {
            match (&gated.blocked, &gated.revised) {
                (Some(reason), _) => *tool = Tool::Refused(reason.clone()),
                (None, Some(revised)) => *tool = Tool::Ended(revised.tokens),
                (None, None) => {}
            }
        }
    }

    /// Takes a decision of people into account, if it is about one of its calls.
    pub fn take_decision(&mut self, number: u32, decision: RequestDecision, at: Moment) {
        let Some((ask, since)) = self.asked.take_if(|(ask, _)| ask.request == number) else {
            return;
        };
        self.waited_ms += u64::try_from(at.since(since).as_millis()).expect("it is short");
        let whole = ask.is_granted_by(decision) && ask.deferred_results.is_empty();
        self.agreed = ask.tool_call.filter(|_| whole);
        self.passed = ask.exchange.filter(|_| whole);
    }
}
