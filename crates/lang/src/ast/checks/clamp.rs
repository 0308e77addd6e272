//! The `clamp` of a gate: it rewrites a number, so it is of use only where the gate may rewrite.

use super::{GateProviderConfig, GateSpec, NumericRangeConfig, PredicateRangeSpec, PredicateRule};
use crate::decode::SpecDecoder;
use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_model::{GateLane, GateTrigger};

impl GateSpec {
    /// Returns the range its number is moved into.
    pub(crate) fn clamp(&self) -> Option<&Spanned<PredicateRangeSpec>> {
        let (GateProviderConfig::Predicate(rule) | GateProviderConfig::Script(Some(rule))) =
            self.provider_config.as_ref()?
        else {
            return None;
        };
        match rule {
            PredicateRule::NumericRange(NumericRangeConfig { clamp, .. }) => clamp.as_ref(),
            _ => None,
        }
    }
}

/// Notes a clamp of a number the gate cannot rewrite: nothing would continue with the result.
pub(super) fn check_clamp(gate: &GateSpec, decoder: &mut SpecDecoder<'_>) {
    let Some(clamp) = gate.clamp() else { return };
    let id = &gate.id.value;
    let mut note = |message: String, help: &str| {
        decoder.emit(Diagnostic::new(Code::ClampForbidden, clamp.span, message).with_help(help));
    };
    if matches!(gate.provider_config, Some(GateProviderConfig::Script(_))) {
        let message =
            format!("gate `{id}` cannot clamp what its script prints: nothing continues with that number");
        return note(message, "remove `clamp`; let the script print the new value in `modified_context`");
    }
    if gate.lane.as_ref().is_some_and(|lane| lane.value == GateLane::Quality) {
        let message = format!("gate `{id}` cannot clamp: a gate of the lane `quality` rewrites nothing");
        return note(message, "write `lane: policy`, or remove `clamp`");
    }
    let on = gate.on.value;
    let (keys, help) = rewritten(on);
    let Some(key) = examined(gate) else { return };
    if !keys.contains(&key) {
        let may = match keys.last() {
            Some(key) => format!("may rewrite only `{key}`"),
            None => "may rewrite nothing".to_owned(),
        };
        note(format!("gate `{id}` cannot clamp `{key}`: with `on: {}` a gate {may}", on.as_str()), help);
    }
}

/// Returns the keys of the context a gate may rewrite at a trigger, the ways to name the number, and the remedy
/// for another one.
fn rewritten(trigger: GateTrigger) -> (&'static [&'static str], &'static str) {
    match trigger {
        GateTrigger::BeforeRun | GateTrigger::OnInput => {
            (&["message", "params"], "write `extract: $.params.NAME` for a parameter")
        }
        GateTrigger::BeforeStep | GateTrigger::OnToolCall => (
            &["tool_args"],
            "clamp a parameter with `on: on_input` in the `gates` of the plan, or a word of an `exec` with \
             `extract: $.tool_args[1]`",
        ),
        GateTrigger::AfterStep | GateTrigger::OnOutput | GateTrigger::BeforePublish => {
            (&["response"], "write `extract: $.response.NAME` for an output")
        }
        GateTrigger::OnToolResult => {
            (&["response"], "write `extract: $.response` for the result of the tool")
        }
        GateTrigger::OnModelCall | GateTrigger::OnModelReply => {
            (&[], "remove `clamp`, or block the number with `block_outside`")
        }
    }
}

/// Returns the key of the context the gate examines; `None`: its path may lead to several.
fn examined(gate: &GateSpec) -> Option<&str> {
    let Some(extract) = &gate.extract else {
        return Some(match gate.on.value {
            GateTrigger::OnInput | GateTrigger::OnModelCall => "message",
            GateTrigger::OnToolCall => "tool_args",
            GateTrigger::BeforeRun | GateTrigger::BeforeStep => "params",
            _ => "response",
        });
    };
    let path = extract.value.0.strip_prefix('$')?;
    let name = match path.strip_prefix('.') {
        Some(name) => name.split(['.', '[']).next()?,
        None => path.strip_prefix('[')?.split(']').next()?.trim_matches(['"', '\'']),
    };
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_').then_some(name)
}
