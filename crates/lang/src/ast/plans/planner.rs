use super::PlanSpec;
use crate::{
    ast::{parts::sound, steps::stuck::ENOUGH},
    decode::{DecodeSpec, DurationText, MappingFields, SpecDecoder, record, word},
    yaml::YamlNode,
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};
use wf_model::OnStuck;

record! {
    /// A program or a model that is asked for another alternative if a plan has none left.
    pub struct PlannerSpec as "a planner" {
        /// The program and its arguments, without a shell, unchanged.
        optional exec: Spanned<Vec<Spanned<String>>>,
        /// The role, which `wf.yaml` gives a model.
        optional role: Spanned<Name>,
        /// The time limit: 60 s if absent.
        optional timeout: Spanned<DurationText>,
    }
    instead {
        "model" => "write `role: planner`, and give the role a model in `wf.yaml`",
        "run" => "write `exec: [sh, planner.sh]`: a program and its arguments",
    }
    finish can_run;
}

fn can_run(planner: &mut PlannerSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(planner.timeout.as_ref(), decoder);
    sound::check_program(planner.exec.as_ref().map(|exec| exec.value.len()), fields.key("exec"), decoder);
    let named = ["exec", "role"].into_iter().filter(|key| fields.has(key)).count();
    if named != 1 {
        let message = "a planner has either `exec` or `role`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.emit(mistake.with_help("write `exec: [PROGRAM]`, or `role: planner` for a model of wf.yaml"));
    }
    for part in planner.exec.iter().flat_map(|exec| &exec.value) {
        if part.value.contains("{{") {
            let message = "templates are not supported in a planner: its only input is the request";
            let mistake = Diagnostic::new(Code::ValueWrong, part.span, message);
            decoder.emit(mistake.with_help("read the request from stdin"));
        }
    }
}

impl DecodeSpec for OnStuck {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        word(node, decoder)
    }
}

/// The agents of a plan that can be stuck.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ast) struct StuckAgents {
    /// True if one asks the planner, also without `replan`.
    pub(super) guided: bool,
    /// True if one asks people.
    pub(super) escalating: bool,
}

impl PlanSpec {
    /// Returns which of its agents ask somebody when they are stuck.
    pub(super) fn stuck_agents(&self) -> StuckAgents {
        let mut agents = StuckAgents::default();
        for step in self.steps.iter().flatten().chain(&self.finally) {
            let on_stuck = step.own_on_stuck(self.on_stuck);
            let consults = match on_stuck {
                OnStuck::ConsultPlanner => true,
                OnStuck::Escalate => self.planner.as_ref().is_some_and(|planner| planner.role.is_some()),
                OnStuck::Abandon => false,
            };
            agents.guided |= consults && step.most_attempts() >= ENOUGH;
            agents.escalating |= on_stuck == OnStuck::Escalate;
        }
        agents
    }

    /// True if the planner is asked for alternatives once an agent has used up its attempts and guidance, although
    /// the plan does not say how often: its agents ask the planner it names.
    pub fn replans_stuck_agents(&self) -> bool {
        let consults = self.on_stuck.is_none_or(|stuck| stuck == OnStuck::ConsultPlanner);
        self.replan.is_none() && self.planner.is_some() && consults && self.stuck_agents().guided
    }
}

/// Notes a planner or an `on_stuck` without `replan`, and one that asks nobody.
pub(in crate::ast) fn is_asked(
    on_stuck: Option<OnStuck>,
    agents: StuckAgents,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let StuckAgents { guided: guides, escalating } = agents;
    let escalates = on_stuck == Some(OnStuck::Escalate);
    for key in ["planner", "on_stuck"] {
        let is_read = guides || key == "on_stuck" && escalates;
        if fields.has(key) && !fields.has("replan") && !is_read {
            let message = format!("`{key}` has no effect without `replan`");
            let mistake = Diagnostic::new(Code::KeyMissing, fields.key(key), message);
            decoder.emit(mistake.with_help("add `replan: {}`, or remove it"));
        }
    }
    let consults = on_stuck == Some(OnStuck::ConsultPlanner);
    if escalates && !escalating {
        let message = "`on_stuck: escalate` has no effect: no step has an `agent` that a person could guide";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("on_stuck"), message);
        decoder.emit(mistake.with_help("remove it, or ask people with a step that has `approve`"));
    }
    if consults && !fields.has("planner") && (fields.has("replan") || !guides) {
        let message = "no planner is configured";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("on_stuck"), message);
        decoder.emit(mistake.with_help("add `planner: {exec: [PROGRAM]}` or `planner: {role: planner}`"));
    }
}
