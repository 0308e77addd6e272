use std::fmt::Write as _;

use super::{
    BodyReader,
    exchange::{block, problem, read_body, section},
};
use crate::table::{ColumnAlign, TextTable};
use wf_base::{
    units::{fit, moment, plural},
    untrusted::{NAME, paint, untrusted},
};
use wf_core::agent::{
    Message, ModelReply, ModelRequest,
    authoring::{AuthoringUsage, PlanningCall, PlanningRecord, PlanningReply},
};

/// The width of a wish in a list.
const WISH_WIDTH: usize = 60;

/// Returns a list of requests for plans, each with its number.
pub fn planning_list(records: &[(u32, PlanningRecord)]) -> String {
    let mut table = TextTable::new(&[
        ("NUMBER", ColumnAlign::Right),
        ("TIME", ColumnAlign::Left),
        ("CALLS", ColumnAlign::Right),
        ("TOKENS", ColumnAlign::Right),
        ("COST", ColumnAlign::Right),
        ("WISH", ColumnAlign::Left),
        ("RESULT", ColumnAlign::Left),
    ]);
    for (number, record) in records {
        let AuthoringUsage { calls, tokens, cost } = record.usage();
        let cells = [
            number.to_string(),
            moment(record.at),
            calls.to_string(),
            tokens.total().to_string(),
            cost.to_string(),
            fit(&record.input, WISH_WIDTH),
            result(record),
        ];
        table.row(cells.into_iter().map(|cell| (cell, anstyle::Style::new())).collect());
    }
    table.render()
}

/// Returns a request for a plan as a person reads it: the planners with their questions, and each exchange with a model.
pub fn planning_text(number: u32, record: &PlanningRecord, bodies: BodyReader<'_>) -> String {
    let mut text = format!("{}\n", paint(NAME, &format!("request {number} · {}", moment(record.at))));
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<9} {}", untrusted(value));
    };
    field("wish", &record.input);
    if let Some(plan) = &record.revises {
        field("revises", plan);
    }
    let budget = record.budget;
    let tokens = budget.max_tokens.map(|most| format!("{most} tokens"));
    let limits: Vec<String> =
        tokens.into_iter().chain(budget.max_cost.map(|most| most.to_string())).collect();
    if !limits.is_empty() {
        field("budget", &limits.join(", "));
    }
    let AuthoringUsage { calls, tokens, cost } = record.usage();
    field("used", &format!("{}, {} tokens, {cost}", plural(calls, "model call"), tokens.total()));
    field("result", &result(record));
    for clarification in &record.clarifications {
        section(&mut text, "question", &clarification.question);
        block(&mut text, if clarification.answer.is_empty() { "(no answer)" } else { &clarification.answer });
    }
    let mut earlier = None;
    for (number, call) in (1_usize..).zip(&record.calls) {
        let request = call_text(
            &mut text,
            &format!("call {number} · {} {}", call.role, call.model),
            PlannedCallView { call, earlier_request: earlier.as_ref(), bodies },
        );
        earlier = request.or(earlier);
    }
    text
}

/// A call, and the request before it, which it may continue.
#[derive(Clone, Copy)]
struct PlannedCallView<'a> {
    call: &'a PlanningCall,
    earlier_request: Option<&'a ModelRequest>,
    bodies: BodyReader<'a>,
}

/// Writes a call; returns its request.
fn call_text(text: &mut String, heading: &str, view: PlannedCallView<'_>) -> Option<ModelRequest> {
    let PlannedCallView { call, earlier_request: earlier, bodies } = view;
    let Some(end) = &call.end else {
        let state = match (&call.refused, call.reserve) {
            (Some(reason), _) => format!("not made: {reason}"),
            (None, reserve) => {
                let reserve = reserve.unwrap_or_default();
                format!("no end is recorded; it may have used {} tokens, {}", reserve.tokens, reserve.cost)
            }
        };
        section(text, heading, &state);
        return None;
    };
    let (usage, duration_ms) = (end.usage, end.duration_ms);
    let about = format!("{} + {} tokens, {}, {duration_ms} ms", usage.input, usage.output, end.cost);
    section(text, &format!("{heading} · {about}"), "");
    let request = match read_body::<ModelRequest>(bodies, &end.request) {
        Ok(request) => Some(request),
        Err(error) => {
            problem(text, error);
            None
        }
    };
    if let Some(request) = &request {
        if earlier.is_none_or(|earlier| earlier.system != request.system) {
            section(text, "system", &request.system);
        }
        for message in request.messages_after(earlier) {
            // The replies are shown with the calls that they end.
            if let Message::User { text: told } = message {
                section(text, "user", told);
            }
        }
    }
    match &end.reply {
        PlanningReply::Failed(reason) => {
            section(text, "failed", "");
            problem(text, reason);
        }
        PlanningReply::Replied { model, reply } => match read_body::<ModelReply>(bodies, reply) {
            Ok(reply) => section(text, &format!("reply · {model}"), &reply.text),
            Err(error) => problem(text, error),
        },
    }
    request
}

fn result(record: &PlanningRecord) -> String {
    match &record.end {
        None => "no end is recorded".into(),
        Some(end) if end.is_accepted => end.result.clone(),
        Some(end) => format!("failed: {}", end.result),
    }
}
