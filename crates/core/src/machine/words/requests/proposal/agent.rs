use super::{ProposedAgent, mistake::ProposalMistake, values::KnownReads};
use crate::agent::plain_guidance;
use wf_model::{AgentWork, ModelChoice, Plan, Step, StepWork};

impl ProposedAgent {
    /// Returns the work of an agent as proposed: its tools, its sandbox and its limits stay.
    pub(super) fn apply_to(&self, written: &AgentWork, plan: &Plan) -> Result<AgentWork, ProposalMistake> {
        let mut work = written.clone();
        if let Some(choice) = self.choice()? {
            if agents(plan).all(|agent| agent.model != choice) {
                let (kind, name) = match &choice {
                    ModelChoice::Role(name) => ("role", name),
                    ModelChoice::Model(name) => ("model", name),
                };
                return Err(ProposalMistake::UnknownModel { kind, name: name.clone() });
            }
            work.model = choice;
        }
        if let Some(turns) = self.max_turns {
            let most = agents(plan).map(|agent| agent.max_turns).max().unwrap_or(written.max_turns);
            if turns == 0 || turns > most {
                return Err(ProposalMistake::Turns(most));
            }
            work.max_turns = turns;
        }
        let known = KnownReads::of(written.with.iter().map(|(_, value)| value));
        for (name, value) in &self.with {
            let key = format!("agent.with.{name}");
            let own = work.with.iter_mut().find(|(own, _)| own == name);
            let own =
                own.ok_or_else(|| ProposalMistake::UnknownValue { key: key.clone(), name: name.clone() })?;
            own.1 = known.value(&key, value)?;
        }
        if let Some(guidance) = &self.guidance {
            let guidance = plain_guidance(guidance)?;
            work.briefing = format!("{}\n\n## Planner guidance\n\n{guidance}", work.briefing.trim_end());
        }
        Ok(work)
    }

    fn choice(&self) -> Result<Option<ModelChoice>, ProposalMistake> {
        match (&self.role, &self.model) {
            (Some(_), Some(_)) => Err(ProposalMistake::Exclusive("agent.role", "agent.model")),
            (Some(role), None) => Ok(Some(ModelChoice::Role(role.clone()))),
            (None, model) => Ok(model.clone().map(ModelChoice::Model)),
        }
    }

    /// Returns the texts for the model: they must name nothing forbidden.
    pub(super) fn texts(&self) -> Vec<String> {
        let values = self.with.values().map(ToString::to_string);
        self.guidance.iter().cloned().chain(values).collect()
    }
}

/// Returns the agents of a plan, in every alternative of its steps.
fn agents(plan: &Plan) -> impl Iterator<Item = &AgentWork> {
    let ways = plan.steps().iter().flat_map(Step::ways);
    ways.filter_map(|way| match &way.work {
        StepWork::Agent(agent) => Some(agent.as_ref()),
        _ => None,
    })
}
