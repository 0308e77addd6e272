use serde::Deserialize;
use serde_json::Value;
use wf_core::{agent::PriorConversation, machine::Attempt};
use wf_engine::RecordedConversations;

/// The part of an event saying which conversation an agent continued.
#[derive(Deserialize)]
struct BriefedAgent {
    #[serde(default)]
    parents: Vec<String>,
    #[serde(flatten)]
    attempt: Attempt,
    conversation: PriorConversation,
}

/// Returns the conversations the agents of recorded events continued, so that a replay gives them the same.
pub fn recorded_conversations(events: &[Value]) -> RecordedConversations {
    let briefed = events.iter().filter(|event| event["event"] == "agent_briefed");
    let briefed = briefed.filter_map(|event| serde_json::from_value::<BriefedAgent>(event.clone()).ok());
    briefed.map(|briefed| ((briefed.parents, briefed.attempt), briefed.conversation)).collect()
}
