//! The mode in which an agent deals with people, resolved from the signals of its turn.

use std::collections::BTreeMap;

use wf_base::keyword::Keyword;
use wf_core::{
    agent::{ModeSignals, ResolvedMode},
    risk::risk_of_step,
};
use wf_exec::WorkError;
use wf_model::{
    AgentInteraction, AgentTool, AgentWork, InteractionMode, InteractionRegister, PersonaChanges, Step,
    expr::EvalError,
};

use crate::run::AttemptTask;

/// The mode in which an agent deals with people.
pub(super) struct AgentMode {
    pub(super) mode: Option<InteractionMode>,
    /// The mode as it was resolved; `None`: the plan alone says it.
    pub(super) resolved: Option<ResolvedMode>,
    /// The tools the agent may call: where it is not to ask by itself, without `ask`.
    pub(super) tools: Vec<AgentTool>,
}

/// Returns the mode of an agent. Nothing but the plan and its values decides it, so that an agent going on after a
/// crash has the same.
pub(super) fn agent_mode(task: &AttemptTask, step: &Step, work: &AgentWork) -> Result<AgentMode, WorkError> {
    let of_plan = task.run.plan.parts().interaction_mode;
    let Some(signals) = &work.interaction else {
        return Ok(AgentMode { mode: of_plan, resolved: None, tools: work.tools.clone() });
    };
    let words = said_words(task, signals)?;
    let register = words.word::<InteractionRegister>("register")?;
    let persona = work.persona.as_ref();
    let signals = ModeSignals {
        register: register.ok_or_else(|| WorkError::logical("`interaction.register` is empty"))?,
        risk: risk_of_step(step).level,
        planner_mode: words.word("planner")?,
        plan_mode: of_plan,
        proxy_mode: words.word("proxy")?,
        initiative: persona.map_or(0.0, |persona| persona.effective(&PersonaChanges::default()).initiative),
    };
    let resolved = signals.resolve();
    let is_offered = |tool: &AgentTool| resolved.mode.asks() || *tool != AgentTool::Ask;
    let tools = work.tools.iter().copied().filter(is_offered).collect();
    Ok(AgentMode { mode: Some(resolved.mode), resolved: Some(resolved), tools })
}

fn said_words(task: &AttemptTask, interaction: &AgentInteraction) -> Result<SaidWords, WorkError> {
    let rendered = task.with_template_values(&BTreeMap::new(), |values| {
        let rendered = interaction.templates().map(|(key, signal)| Ok((key, signal.render(values)?)));
        rendered.collect::<Result<BTreeMap<_, _>, EvalError>>()
    });
    rendered.map(SaidWords).map_err(|error| WorkError::logical(error.to_string()))
}

/// The words the signals of a turn are, by their keys.
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
