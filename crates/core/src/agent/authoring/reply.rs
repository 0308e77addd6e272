use super::super::{ModelReply, ModelRequest, StopReason, cut_result};

/// The maximum size of a plan by a model, in bytes.
pub const PLAN_LIMIT: usize = 256 * 1024;

/// A mistake in a reply of a planner, in sentences for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanMistake {
    /// It is no plan, or one with errors.
    #[error("{0}")]
    Invalid(String),
    /// It uses what memory forbids.
    #[error("{0}")]
    Forbidden(String),
}

/// The kinds of mistakes a planner was told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanRepairs {
    was_invalid: bool,
    was_forbidden: bool,
}

impl PlanRepairs {
    /// Notes a mistake; true if the planner may be asked again because of it.
    pub fn allow(&mut self, mistake: &PlanMistake) -> bool {
        let noted = match mistake {
            PlanMistake::Invalid(_) => &mut self.was_invalid,
            PlanMistake::Forbidden(_) => &mut self.was_forbidden,
        };
        !std::mem::replace(noted, true)
    }
}

/// Appends a reply and the mistake in it. Of a reply that is too large, only the ends go back to the model.
pub fn append_mistake(request: &mut ModelRequest, reply: ModelReply, mistake: &str) {
    request.append_turn(sendable(reply), Vec::new(), Some(mistake));
}

/// Returns a reply as it goes back to its model.
pub(super) fn sendable(mut reply: ModelReply) -> ModelReply {
    reply.tool_calls.clear();
    if reply.text.len() > PLAN_LIMIT {
        reply.text = cut_result(&reply.text);
    }
    if reply.text.trim().is_empty() {
        // Some providers refuse a conversation with an empty message.
        reply.text = "(empty)".into();
    }
    reply
}

/// Returns the text of the plan in a reply, which may be one fenced block.
pub fn read_plan_text(reply: &ModelReply) -> Result<String, PlanMistake> {
    let invalid = |message: &str| Err(PlanMistake::Invalid(message.into()));
    if reply.text.len() > PLAN_LIMIT {
        let (size, most) = (reply.text.len() / 1024, PLAN_LIMIT / 1024);
        return invalid(&format!("the reply has {size} KiB: a plan may have at most {most} KiB"));
    }
    match reply.stop {
        StopReason::MaxTokens => {
            return invalid("the reply was cut at its maximum length: write a shorter plan");
        }
        StopReason::Refusal => return invalid("the model, or its provider, refused to answer"),
        StopReason::EndTurn | StopReason::ToolCalls => {}
    }
    let text = without_fence(reply.text.trim_start_matches('\u{feff}').trim());
    if !text.starts_with("---") {
        return invalid(
            "the reply is no plan: it must begin with the line `---`, without any text before it",
        );
    }
    Ok(format!("{}\n", text.trim_end()))
}

/// Returns the text inside a fence around the whole text.
fn without_fence(text: &str) -> &str {
    let fence = text.len() - text.trim_start_matches('`').len();
    let Some((marks, rest)) = text.split_at_checked(fence).filter(|(marks, _)| marks.len() >= 3) else {
        return text;
    };
    match rest.strip_suffix(marks).and_then(|rest| rest.split_once('\n')) {
        Some((language, inside)) if !language.contains('`') => inside.trim(),
        _ => text,
    }
}
