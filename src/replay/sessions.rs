use serde::Deserialize;
use serde_json::Value;
use wf_core::agent::PriorSession;
use wf_core::machine::Attempt;
use wf_engine::RecordedSessions;

/// The part of an event that says which session an agent continued.
#[derive(Deserialize)]
struct BriefedAgent {
    #[serde(default)]
    parents: Vec<String>,
    #[serde(flatten)]
    attempt: Attempt,
    session: PriorSession,
}

/// Returns the sessions that the agents of recorded events continued, so that a replay gives them the same.
pub fn recorded_sessions(events: &[Value]) -> RecordedSessions {
    let briefed = events.iter().filter(|event| event["event"] == "agent_briefed");
    let briefed = briefed.filter_map(|event| serde_json::from_value::<BriefedAgent>(event.clone()).ok());
    briefed.map(|briefed| ((briefed.parents, briefed.attempt), briefed.session)).collect()
}
