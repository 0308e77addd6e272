use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;
use wf_base::{name::RunId, time::Moment};
use wf_core::{
    machine::{ApprovalOutcome, ApprovalRequest, Event, EventKind, RequestDecision},
    observe::RunRef,
};
use wf_engine::{RecordedAnswers, to_portable};
use wf_report::{
    follow::{EVENT_VERSION, EventLine},
    replay::comparable_event,
};

/// The answers of people in a recording, each with what they were asked: another question gets none of them.
pub struct AnswerRecording {
    /// The workspace of the replay.
    root: PathBuf,
    state: Mutex<AnswerQueue>,
}

/// The remaining answers, in their order, and the given ones.
#[derive(Default)]
struct AnswerQueue {
    /// Each with its request, in the comparable form. A further attempt of a nested run may make the same one.
    left: Vec<(Value, ApprovalOutcome)>,
    outcomes: BTreeMap<(RunId, u32), ApprovalOutcome>,
}

impl AnswerRecording {
    /// Takes the answers from recorded events, for a replay in a workspace.
    pub fn of(events: &[Value], root: PathBuf) -> Self {
        let mut left = Vec::new();
        for (index, event) in events.iter().enumerate() {
            let outcome =
                (event["event"] == "approval_resolved").then(|| serde_json::from_value(event.clone()));
            let Some(outcome) = outcome.and_then(Result::ok).filter(is_of_people) else {
                continue;
            };
            let is_request = |earlier: &&Value| {
                earlier["event"] == "approval_requested"
                    && earlier["parents"] == event["parents"]
                    && earlier["request"] == event["request"]
            };
            let request = events[..index].iter().rev().find(is_request);
            left.extend(request.map(|request| (request.clone(), outcome)));
        }
        Self { root, state: Mutex::new(AnswerQueue { left, outcomes: BTreeMap::new() }) }
    }

    /// Returns a request in the comparable form.
    fn comparable(&self, run: &RunRef, request: &ApprovalRequest) -> Option<Value> {
        let event =
            Event { at: Moment::default(), fact: EventKind::ApprovalRequested(Box::new(request.clone())) };
        let line = EventLine { v: EVENT_VERSION, run: run.id.clone(), parents: run.path.clone(), event };
        comparable_event(&to_portable(&serde_json::to_value(line).ok()?, &self.root), &|_| None)
    }
}

impl RecordedAnswers for AnswerRecording {
    fn answer(&self, run: &RunRef, approval_request: &ApprovalRequest) -> Option<ApprovalOutcome> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let this = (run.id.clone(), approval_request.request);
        if let Some(approval_outcome) = state.outcomes.get(&this) {
            return Some(approval_outcome.clone());
        }
        let request = self.comparable(run, approval_request)?;
        let position = state.left.iter().position(|(recorded, _)| *recorded == request)?;
        let (_, outcome) = state.left.remove(position);
        state.outcomes.insert(this, outcome.clone());
        Some(outcome)
    }
}

/// True if people decided. A replay finds out itself about an expired or a void question.
fn is_of_people(outcome: &ApprovalOutcome) -> bool {
    use RequestDecision::{Answered, Approved, Denied};
    matches!(outcome.decision, Approved | Answered | Denied)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wf_base::name::RunId;
    use wf_core::{
        machine::{ApprovalRequest, RequestDecision},
        observe::RunRef,
    };
    use wf_engine::RecordedAnswers as _;

    use super::AnswerRecording;

    fn run(path: &[&str]) -> RunRef {
        RunRef {
            id: RunId::from_bytes([u8::try_from(path.len()).unwrap(); 16]),
            plan: "mails".parse().unwrap(),
            path: path.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn ask(number: u32, message: &str) -> ApprovalRequest {
        let ask = json!({"request": number, "since": "2026-11-21T08:00:00.000Z", "step": "ok", "message": message,
                         "expires": "2026-11-28T08:00:00.000Z"});
        serde_json::from_value(ask).unwrap()
    }

    fn events(number: u32, message: &str, decision: &str) -> [Value; 2] {
        [
            json!({"event": "approval_requested", "request": number, "step": "ok", "message": message}),
            json!({"event": "approval_resolved", "request": number, "step": "ok", "decision": decision}),
        ]
    }

    fn recording(events: &[Value]) -> AnswerRecording {
        AnswerRecording::of(events, "/work".into())
    }

    #[test]
    fn another_question_has_no_answer() {
        let recording = recording(&events(1, "Send?", "approved"));
        assert_eq!(recording.answer(&run(&[]), &ask(1, "Delete?")), None);
        assert_eq!(recording.answer(&run(&[]), &ask(2, "Send?")), None);
        assert_eq!(recording.answer(&run(&["inner"]), &ask(1, "Send?")), None);
        for _ in 0..2 {
            let outcome = recording.answer(&run(&[]), &ask(1, "Send?")).unwrap();
            assert_eq!(outcome.decision, RequestDecision::Approved);
        }
    }

    #[test]
    fn the_same_question_of_a_further_attempt_has_the_next_answer() {
        let recording = recording(&[events(1, "Send?", "approved"), events(1, "Send?", "denied")].concat());
        let again = RunRef { id: RunId::from_bytes([9; 16]), ..run(&[]) };
        let runs = [run(&[]), again.clone(), run(&[]), again];
        let decisions = runs.map(|run| recording.answer(&run, &ask(1, "Send?")).unwrap().decision);
        let (yes, no) = (RequestDecision::Approved, RequestDecision::Denied);
        assert_eq!(decisions, [yes, no, yes, no]);
        let third = RunRef { id: RunId::from_bytes([8; 16]), ..run(&[]) };
        assert_eq!(recording.answer(&third, &ask(1, "Send?")), None);
    }

    #[test]
    fn what_no_person_decided_is_not_given() {
        for decision in ["expired", "void", "withdrawn"] {
            let recording = recording(&events(1, "Send?", decision));
            assert_eq!(recording.answer(&run(&[]), &ask(1, "Send?")), None, "{decision}");
        }
    }
}
