//! The approval of a person, and the answer a person gives.

use crate::{
    decode::{DecodeSpec, DurationText, LowerSpec, MappingFields, OrderedEntries, SpecDecoder, record},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    inline_schema,
    name::Name,
    source::Spanned,
};
use wf_model::{AnswerChoices, AnswerKind, ApprovalRequirement, expr::Template};

record! {
    /// A decision by approvers: the step waits for it, and the run can be suspended meanwhile.
    pub struct ApproveSpec as "an approval" {
        /// The question.
        required message: Spanned<Template>,
        /// Values shown with it: exactly these values are approved, and become the outputs of the
        /// step.
        default show: OrderedEntries<Name, Spanned<Template>>,
        /// The answer that is asked for: yes or no if absent. Its value becomes an output of the step.
        optional answer: Spanned<AnswerSpec>,
        /// The number of approvers who must agree: that of the workspace's policy if absent.
        optional required: Spanned<u32>,
        /// The names of the approvers: every approver of the workspace if absent.
        default approvers: Vec<Spanned<String>>,
        /// The time limit for the decision: 7 days if absent.
        optional timeout: Spanned<DurationText>,
        /// The approvers who are asked, for as long again, if there is no decision in time.
        default escalate_to: Vec<Spanned<String>>,
    }
    finish check_approve;
}

fn check_approve(approve: &mut ApproveSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    crate::ast::parts::sound::check_required_count(approve.required.as_ref(), &approve.approvers, decoder);
    crate::ast::parts::sound::check_nonzero_duration(approve.timeout.as_ref(), decoder);
    let output = approve.answer_kind().map(|kind| kind.output());
    let shown = approve.show.iter().find(|(name, _)| Some(name.value.as_str()) == output);
    if let Some((name, _)) = shown {
        let message = format!("`{}` is the output with the answer", name.value);
        decoder
            .emit(Diagnostic::new(Code::ValueWrong, name.span, message).with_help("show it by another name"));
    }
}

impl ApproveSpec {
    /// Returns the kind of the answer asked for; `None`: yes or no.
    pub fn answer_kind(&self) -> Option<AnswerKind> {
        self.answer.as_ref().and_then(|answer| answer.value.kind())
    }

    /// Returns the names of the outputs of the step.
    pub fn outputs(&self) -> impl Iterator<Item = String> {
        let answered = self.answer_kind().map(|kind| kind.output().to_owned());
        self.show.iter().map(|(name, _)| name.value.to_string()).chain(answered)
    }

    /// Returns the required approvals and their deadline.
    pub fn needs(&self) -> ApprovalRequirement {
        ApprovalRequirement {
            required: self.required.lower(),
            approvers: self.approvers.lower(),
            timeout: self.timeout.lower(),
            escalate_to: self.escalate_to.lower(),
        }
    }
}

record! {
    /// The answer that is asked for. Exactly one kind.
    pub struct AnswerSpec as "an `answer`" {
        /// Exactly one of these words: a list, or a template that evaluates to one.
        optional choose: Spanned<ChoicesSpec>,
        /// A text that the approver may change: a template.
        optional edit: Spanned<Template>,
        /// The maximum number of characters of the text: 20000 if absent.
        optional max_length: Spanned<u32>,
        /// A list of which the approver takes all, or some in its order: a template.
        optional select: Spanned<Template>,
    }
    finish check_kind;
}

/// The words to choose from.
#[derive(Clone, Debug)]
pub enum ChoicesSpec {
    /// A list in the plan.
    List(Vec<String>),
    /// A list computed in the run.
    Computed(Template),
}

impl DecodeSpec for ChoicesSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match &node.value {
            YamlValue::List(_) => Vec::<String>::decode(node, decoder).map(Self::List),
            YamlValue::Text(_) => Template::decode(node, decoder).map(Self::Computed),
            _ => {
                decoder.wrong_type(node, "a list of words, or a template that evaluates to one");
                None
            }
        }
    }
}

inline_schema!(ChoicesSpec, "Choices", { "type": ["array", "string"], "items": { "type": "string" } });

fn check_kind(answer: &mut AnswerSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let kinds = ["choose", "edit", "select"];
    let mut present = kinds.into_iter().filter(|key| fields.has(key));
    match (present.next(), present.next()) {
        (None, _) => {
            let message = "an `answer` needs `choose`, `edit` or `select`";
            let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
            decoder.emit(mistake.with_help("for yes or no, leave `answer` out"));
        }
        (Some(one), Some(other)) => {
            let message = format!("an `answer` is of one kind, not `{one}` and `{other}`");
            let mistake = Diagnostic::new(Code::ValueWrong, fields.key(other), message);
            decoder.emit(mistake.with_help("ask each in a step of its own"));
        }
        (Some(_), None) => {}
    }
    if fields.has("max_length") && !fields.has("edit") {
        let message = "`max_length` is only valid with `edit`";
        decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key("max_length"), message));
    }
    check_words(answer, decoder);
}

/// Notes words nobody could choose.
fn check_words(answer: &AnswerSpec, decoder: &mut SpecDecoder<'_>) {
    let Some(Spanned { value: ChoicesSpec::List(words), span }) = &answer.choose else {
        return;
    };
    let twice =
        words.iter().enumerate().find(|(at, word)| words.iter().take(*at).any(|earlier| earlier == *word));
    let message = match twice {
        _ if words.len() < 2 => "one word is no choice".to_owned(),
        _ if words.iter().any(String::is_empty) => "an empty word is no choice".to_owned(),
        Some((_, word)) => format!("`{word}` is listed twice"),
        None => return,
    };
    decoder.emit(
        Diagnostic::new(Code::ValueWrong, *span, message).with_help("list two different words or more"),
    );
}

impl AnswerSpec {
    /// Returns the template of what is answered, if it is computed.
    pub fn template(&self) -> Option<&Template> {
        let computed = self.choose.as_ref().and_then(|choices| match &choices.value {
            ChoicesSpec::List(_) => None,
            ChoicesSpec::Computed(list) => Some(list),
        });
        let text = self.edit.as_ref().or(self.select.as_ref());
        computed.or(text.map(|text| &text.value))
    }

    /// Returns the kind of the answer; `None`: it is not sound.
    pub fn kind(&self) -> Option<AnswerKind> {
        let choose = self.choose.as_ref().map(|choices| {
            AnswerKind::Choose(match &choices.value {
                ChoicesSpec::List(words) => AnswerChoices::List(words.clone()),
                ChoicesSpec::Computed(list) => AnswerChoices::Computed(list.clone()),
            })
        });
        let max_length = self.max_length.lower().unwrap_or(AnswerKind::MAX_LENGTH);
        let edit = self.edit.lower().map(|text| AnswerKind::Edit { text, max_length });
        let select = self.select.lower().map(AnswerKind::Select);
        choose.or(edit).or(select)
    }
}
