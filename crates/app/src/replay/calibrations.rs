use serde::Deserialize;
use serde_json::Value;
use wf_core::{agent::authoring::MemoryCalibration, machine::Attempt};
use wf_engine::RecordedCalibrations;

/// The part of an event saying what memory knew about the task of an agent.
#[derive(Deserialize)]
struct InformedAgent {
    #[serde(default)]
    parents: Vec<String>,
    #[serde(flatten)]
    attempt: Attempt,
    calibration: MemoryCalibration,
}

/// Returns what the agents of recorded events were told of memory, so that a replay tells them the same.
pub fn recorded_calibrations(events: &[Value]) -> RecordedCalibrations {
    let briefed = events.iter().filter(|event| event["event"] == "agent_briefed");
    let informed = briefed.filter_map(|event| serde_json::from_value::<InformedAgent>(event.clone()).ok());
    informed.map(|agent| ((agent.parents, agent.attempt), agent.calibration)).collect()
}
