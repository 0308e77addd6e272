//! `interaction` of an agent: the signals of a turn.

use crate::decode::{ArgumentTemplate, MappingFields, SpecDecoder, record};
use wf_base::{
    diag::{Code, Diagnostic},
    keyword::Keyword,
    source::Spanned,
};
use wf_model::{InteractionMode, InteractionRegister, expr::Template};

record! {
    /// The signals of a turn, from which the mode of an agent is resolved. Each may be a template.
    pub struct InteractionSpec as "the `interaction` of an agent" {
        /// The register: `exploration`, `execution`, `review` or `status`.
        required register: Spanned<ArgumentTemplate>,
        /// The mode that the agent said which routed the turn: as `interaction_mode` of a plan, or empty.
        optional proxy: Spanned<ArgumentTemplate>,
        /// The mode that the planner said, which outweighs that of the plan: the same words, or empty.
        optional planner: Spanned<ArgumentTemplate>,
    }
    finish words_are_known;
    lowers wf_model::AgentInteraction;
}

impl InteractionSpec {
    /// Returns the signals.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let modes = self.proxy.iter().chain(&self.planner);
        std::iter::once(&self.register).chain(modes).map(|signal| &signal.value.0)
    }
}

/// Notes signals that are written out and are no words of theirs.
fn words_are_known(
    interaction: &mut InteractionSpec,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    check_word::<InteractionRegister>("register", &interaction.register, decoder);
    for mode in interaction.proxy.iter().chain(&interaction.planner) {
        check_word::<InteractionMode>("mode", mode, decoder);
    }
}

fn check_word<T: Keyword>(noun: &str, signal: &Spanned<ArgumentTemplate>, decoder: &mut SpecDecoder<'_>) {
    let Some(word) = signal.value.0.constant() else { return };
    if T::ALL.iter().all(|keyword| word != keyword.word()) {
        let message = format!("this is no {noun} of an interaction");
        let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
        let mistake = Diagnostic::new(Code::ValueWrong, signal.span, message);
        decoder.emit(mistake.with_help(format!("write one of: {}", words.join(", "))));
    }
}
