use crate::diag::{Code, Diagnostic};
use crate::model::EscalationAction;
use crate::name::Name;
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, record, words};

record! {
    /// What the block of a gate leads to.
    pub struct Escalation as "an escalation" {
        /// What is done.
        required action: Spanned<EscalationAction>,
        /// What is said.
        optional message: String,
        /// How often it is tried again before the fallback: once if absent.
        optional max_retries: Spanned<u32>,
        /// The escalation that follows when this one has nothing left to do.
        optional fallback: Spanned<Name>,
        /// The queue that a person works off.
        optional queue: String,
        /// What the next attempt is told to do otherwise.
        optional rephrase: String,
        /// The plan that is to mend it: the path of its file, relative to this one.
        optional plan: Spanned<String>,
    }
    finish fits;
}

words!(known EscalationAction {
    "respond" => Self::Respond,
    "report" => Self::Report,
    "retry" => Self::Retry,
    "suppress_and_rephrase" => Self::SuppressAndRephrase,
    "suppress_and_escalate" => Self::SuppressAndEscalate,
    "escalate_human" => Self::EscalateHuman,
    "transfer_to_queue" => Self::TransferToQueue,
    "spawn_task" => Self::SpawnTask,
});

/// The keys that each action cannot do without.
const NEEDED: &[(EscalationAction, &str)] = &[
    (EscalationAction::Respond, "message"),
    (EscalationAction::SuppressAndRephrase, "rephrase"),
    (EscalationAction::SuppressAndEscalate, "fallback"),
    (EscalationAction::TransferToQueue, "queue"),
    (EscalationAction::SpawnTask, "plan"),
];

/// The keys that only some actions can use.
const USED: &[(&str, &[EscalationAction])] = &[
    (
        "max_retries",
        &[
            EscalationAction::Retry,
            EscalationAction::SuppressAndRephrase,
        ],
    ),
    (
        "queue",
        &[
            EscalationAction::TransferToQueue,
            EscalationAction::EscalateHuman,
        ],
    ),
    ("rephrase", &[EscalationAction::SuppressAndRephrase]),
    ("plan", &[EscalationAction::SpawnTask]),
];

/// Notes what an action lacks, and what it has no use for.
fn fits(made: &mut Escalation, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let action = made.action.value;
    for (_, key) in NEEDED.iter().filter(|(needs, _)| *needs == action) {
        if !fields.has(key) {
            let message = format!("`{}` needs the key `{key}`", action.as_str());
            decoder.note(Diagnostic::new(Code::KeyMissing, made.action.span, message));
        }
    }
    for (key, by) in USED {
        if fields.has(key) && !by.contains(&action) {
            let words: Vec<_> = by.iter().map(|by| format!("`{}`", by.as_str())).collect();
            let message = format!("`{}` has no use for `{key}`", action.as_str());
            let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
            decoder.note(mistake.help(format!("it belongs to {}", words.join(" or "))));
        }
    }
}
