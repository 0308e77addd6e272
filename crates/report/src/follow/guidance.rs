use wf_base::untrusted::untrusted;
use wf_core::machine::{EventKind, GuidanceOutcome, TaskId};

/// Returns the task that a planner guides, and what became of that; `None` for all other facts.
pub(super) fn guidance_text(kind: &EventKind) -> Option<(&TaskId, String)> {
    match kind {
        EventKind::GuidanceRequested(start) => {
            let text = format!("asked for guidance after attempt {}", start.attempt.attempt);
            Some((&start.attempt.place, text))
        }
        EventKind::GuidanceEnded(end) => {
            let text = match &end.outcome {
                GuidanceOutcome::Given { guidance } => format!("guides: {}", untrusted(&one_line(guidance))),
                GuidanceOutcome::Refused { reason } => format!("no guidance: {}", untrusted(reason)),
            };
            Some((&end.attempt.place, text))
        }
        _ => None,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
