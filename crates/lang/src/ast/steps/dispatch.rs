use super::AgentSpec;
use crate::{
    ast::parts::sound,
    decode::{MappingFields, SpecDecoder, record},
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_model::AgentTool;

/// The largest `max`.
const MOST_CHILDREN: u32 = 1000;

record! {
    /// The plans that an agent may start as child runs.
    pub struct DispatchSpec as "the `dispatch` of an agent" {
        /// The paths of the plans, relative to this file. The model knows them by their ids.
        required plans: Vec<Spanned<String>>,
        /// The maximum number of child runs of an attempt: 20 if absent.
        optional max: Spanned<u32>,
        /// The maximum number of them at a time: 4 if absent. Further ones wait.
        optional max_parallel: Spanned<u32>,
    }
    finish agrees;
}

/// Notes a list without plans, a plan that is listed twice, and useless limits.
fn agrees(dispatch: &mut DispatchSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::at_least_one(dispatch.max_parallel.as_ref(), decoder);
    if let Some(max) = dispatch.max.as_ref().filter(|max| !(1..=MOST_CHILDREN).contains(&max.value)) {
        let message = format!("`max` must be a number from 1 to {MOST_CHILDREN}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, max.span, message));
    }
    if dispatch.plans.is_empty() {
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("plans"), "`plans` is empty");
        decoder.emit(mistake.with_help("list the paths of the plans, relative to this file"));
    }
    sound::check_duplicates("plan", &dispatch.plans, decoder);
}

/// Notes tools for child runs without plans, plans without the tools, and one tool without the other.
pub(super) fn check_tools(agent: &AgentSpec, decoder: &mut SpecDecoder<'_>) {
    let tool = |agent_tool| agent.tools.iter().find(|tool| tool.value == agent_tool).map(|tool| tool.span);
    let (starts, collects) = (tool(AgentTool::Dispatch), tool(AgentTool::Collect));
    let plans = agent.dispatch.as_ref().map(|dispatch| dispatch.span);
    let mut lacks = |span: Span, message: &str, help: &str| {
        decoder.emit(Diagnostic::new(Code::KeyMissing, span, message).with_help(help));
    };
    match (starts, collects, plans) {
        (None, None, None) | (Some(_), Some(_), Some(_)) => {}
        (Some(span), _, None) | (None, Some(span), None) => lacks(
            span,
            "an agent with the tools `dispatch` and `collect` lists the plans that it may start",
            "write `dispatch: {plans: [PATH]}` inside `agent`",
        ),
        (_, _, Some(span)) => lacks(
            span,
            "`dispatch` needs the tools `dispatch` and `collect`",
            "add both to `tools` of the agent",
        ),
    }
}
