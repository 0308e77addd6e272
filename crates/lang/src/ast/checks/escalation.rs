use crate::decode::{ArgumentTemplate, MappingFields, OrderedEntries, SpecDecoder, record, words};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};
use wf_model::EscalationAction;

record! {
    /// The reaction to a block of a gate.
    pub struct EscalationSpec as "an escalation" {
        /// The action.
        required action: Spanned<EscalationAction>,
        /// The message.
        optional message: String,
        /// The maximum number of retries before the fallback: one if absent.
        optional max_retries: Spanned<u32>,
        /// The escalation that follows when this one is exhausted.
        optional fallback: Spanned<Name>,
        /// The queue that a person works through.
        optional queue: String,
        /// The instruction for the next attempt.
        optional rephrase: String,
        /// The plan that is to repair it, started once the other steps have ended: the path of its file, relative to
        /// this one.
        optional plan: Spanned<String>,
        /// The parameters of that plan. They may read `block.gate`, `block.step` and `block.reason`.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
    }
    finish check_action_keys;
}

words!(EscalationAction);

/// The required keys of each action.
const NEEDED: &[(EscalationAction, &str)] = &[
    (EscalationAction::Respond, "message"),
    (EscalationAction::SuppressAndRephrase, "rephrase"),
    (EscalationAction::SuppressAndEscalate, "fallback"),
    (EscalationAction::TransferToQueue, "queue"),
    (EscalationAction::SpawnTask, "plan"),
];

/// The keys that are valid for some actions only.
const USED: &[(&str, &[EscalationAction])] = &[
    ("max_retries", &[EscalationAction::Retry, EscalationAction::SuppressAndRephrase]),
    ("queue", &[EscalationAction::TransferToQueue, EscalationAction::EscalateHuman]),
    ("rephrase", &[EscalationAction::SuppressAndRephrase]),
    ("plan", &[EscalationAction::SpawnTask]),
    ("with", &[EscalationAction::SpawnTask]),
];

/// Notes the keys an action lacks, and those it cannot use.
fn check_action_keys(
    escalation: &mut EscalationSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let action = escalation.action.value;
    for (_, key) in NEEDED.iter().filter(|(needs, _)| *needs == action) {
        if !fields.has(key) {
            let message = format!("`{}` requires the key `{key}`", action.as_str());
            decoder.emit(Diagnostic::new(Code::KeyMissing, escalation.action.span, message));
        }
    }
    for (key, by) in USED {
        if fields.has(key) && !by.contains(&action) {
            let words: Vec<_> = by.iter().map(|by| format!("`{}`", by.as_str())).collect();
            let message = format!("`{}` does not support `{key}`", action.as_str());
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            decoder.emit(mistake.with_help(format!("it is only valid with {}", words.join(" or "))));
        }
    }
}
