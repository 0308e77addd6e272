use super::sound;
use crate::diag::{Code, Diagnostic};
use crate::model::OnStuck;
use crate::source::Spanned;
use crate::spec::decode::{Decode, Decoder, Fields, Period, record, word};
use crate::spec::yaml::Node;

record! {
    /// A program that is asked for another way where a plan has no other left.
    pub struct Planner as "a planner" {
        /// The program and its arguments, without a shell, as they stand.
        required exec: Spanned<Vec<Spanned<String>>>,
        /// The longest it may take: 60 s if absent.
        optional timeout: Spanned<Period>,
    }
    instead {
        "run" => "write `exec: [sh, planner.sh]`: a program and its arguments",
        "model" => "write `exec`: a program that asks a model, if it likes",
    }
    finish can_run;
}

fn can_run(planner: &mut Planner, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(planner.timeout.as_ref(), decoder);
    sound::some_program(Some(planner.exec.value.len()), fields.key("exec"), decoder);
    for part in &planner.exec.value {
        if part.value.contains("{{") {
            let message = "a planner takes no template: all that it is told is the request";
            let mistake = Diagnostic::new(Code::ValueWrong, part.span, message);
            decoder.note(mistake.help("read the request from standard input"));
        }
    }
}

impl Decode for OnStuck {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let words = [
            ("abandon", Self::Abandon),
            ("consult_planner", Self::ConsultPlanner),
        ];
        word(node, &words, &["escalate"], decoder)
    }
}

impl schemars::JsonSchema for OnStuck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OnStuck".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "enum": ["abandon", "consult_planner"] })
    }
}

/// Notes a planner, or what follows where no other way is left, in a plan that never asks for one.
pub(super) fn is_asked(
    on_stuck: Option<OnStuck>,
    fields: &Fields<'_, '_>,
    decoder: &mut Decoder<'_>,
) {
    for key in ["planner", "on_stuck"] {
        if fields.has(key) && !fields.has("replan") {
            let message = format!("`{key}` means nothing without `replan`");
            let mistake = Diagnostic::new(Code::KeyMissing, fields.key(key), message);
            decoder.note(mistake.help("add `replan: {}`, or remove it"));
        }
    }
    let consults = on_stuck == Some(OnStuck::ConsultPlanner);
    if consults && !fields.has("planner") {
        let message = "there is no planner to consult";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("on_stuck"), message);
        decoder.note(mistake.help("add `planner: {exec: [PROGRAM]}`"));
    }
}
