//! The mode in which an agent deals with people, resolved from the signals of its turn.

use std::collections::BTreeMap;

use crate::attempt_task::AttemptTask;
use wf_base::keyword::Keyword;
use wf_core::agent::{ModeSignals, ResolvedMode};
use wf_core::risk::risk_of_step;
use wf_exec::WorkError;
use wf_model::expr::EvalError;
use wf_model::{
    AgentInteraction, AgentTool, AgentWork, InteractionMode, InteractionRegister, PersonaChanges, Step,
};

impl AttemptTask {
    /// Returns the mode of an agent; `None` if its step says nothing about a turn. Nothing but the plan and its values
    /// decides it, so that an agent that goes on after a crash has the same.
    pub(super) fn resolve_mode(
        &self,
        step: &Step,
        work: &AgentWork,
        plan_mode: Option<InteractionMode>,
    ) -> Result<Option<ResolvedMode>, WorkError> {
        let Some(signals) = &work.interaction else {
            return Ok(None);
        };
        let said = self.signals(signals)?;
        let register = said.word::<InteractionRegister>("register")?;
        let register = register.ok_or_else(|| WorkError::logical("`interaction.register` is empty"))?;
        let persona = work.persona.as_ref();
        let signals = ModeSignals {
            register,
            risk: risk_of_step(step).level,
            planner: said.word("planner")?,
            work_item: plan_mode,
            proxy: said.word("proxy")?,
            initiative: persona
                .map_or(0.0, |persona| persona.effective(&PersonaChanges::default()).initiative),
        };
        Ok(Some(signals.resolve()))
    }

    fn signals(&self, signals: &AgentInteraction) -> Result<SaidWords, WorkError> {
        let said = self.with_template_values(&BTreeMap::new(), |known| {
            let said = signals.templates().map(|(key, signal)| Ok((key, signal.render(known)?)));
            said.collect::<Result<BTreeMap<_, _>, EvalError>>()
        });
        said.map(SaidWords).map_err(|error| WorkError::logical(error.to_string()))
    }
}

/// The words that the signals of a turn are, by their keys.
struct SaidWords(BTreeMap<&'static str, String>);

impl SaidWords {
    /// Returns the value of a word; `None` if nothing was said.
    fn word<T: Keyword>(&self, key: &str) -> Result<Option<T>, WorkError> {
        let Some(word) = self.0.get(key).filter(|word| !word.is_empty()) else {
            return Ok(None);
        };
        T::from_word(word).map(Some).ok_or_else(|| {
            let words: Vec<&str> = T::ALL.iter().map(|known| known.word()).collect();
            WorkError::logical(format!(
                "`interaction.{key}` is `{word}`; it must be one of: {}",
                words.join(", ")
            ))
        })
    }
}

/// Returns the tools that an agent may call: in a mode in which it does not ask by itself, without `ask`.
pub(super) fn offered_tools(work: &AgentWork, resolved: Option<ResolvedMode>) -> Vec<AgentTool> {
    let asks = resolved.is_none_or(|resolved| resolved.mode.asks());
    work.tools.iter().copied().filter(|tool| asks || *tool != AgentTool::Ask).collect()
}
