//! The proposals of a planner: an alternative for a step, in the plan language, with
//! no further reach of the step (artoo v0.8, R2).
//!
//! **Invariant:** an alternative has the sandbox, the tools, the checks and the outputs of its step. What it
//! changes of the work is literal, or reads the same values as the same part of the step.

mod agent;
mod http;
mod mistake;
mod nested;
mod parts;
mod process;
mod script;
mod sketch;
mod values;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::{
    mistake::ProposalMistake,
    sketch::{executes, work_of},
    values::KnownReads,
};
use wf_base::{
    name::{EnvName, Name},
    time::parse_duration,
};
use wf_model::{Alternative, EnvVar, GeneratedPlan, Plan, Step, StepWork, expr::Template};

pub use parts::{ProposedAgent, ProposedArguments, ProposedRequest, ProposedScript};
pub(in crate::machine) use sketch::sketch;

/// The keys of a step for more reach, or less verification.
const FORBIDDEN_KEYS: [&str; 10] =
    ["allow", "limits", "secrets", "verify", "inspect", "test", "loops", "outputs", "gates", "depends_on"];

/// The changeable parts of the work, by their key.
const CHANGEABLE_PARTS: [(&str, &[&str]); 3] = [
    ("agent", &["role", "model", "max_turns", "guidance", "with"]),
    ("http", &["url", "body"]),
    ("skill", &["args"]),
];

/// An alternative for a step, as a planner gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedAlternative {
    /// Its id, unique within the step.
    pub id: Name,
    /// The tool of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The target of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A script, passed literally to `sh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// A program and its arguments, literally.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Vec<String>>,
    /// The changes of an agent's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<ProposedAgent>,
    /// The changes of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<ProposedRequest>,
    /// Another plan listed by the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uses: Option<String>,
    /// Parameters of the nested plan, added to those of the step or replacing them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<Name, Value>,
    /// The text of a workflow file, for a step with a generated plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The changes of a skill script's call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<ProposedScript>,
    /// Variables, added to those of the step or replacing them; each may be a template.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<EnvName, String>,
    /// The working directory, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The time limit of an attempt, for example `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

impl ProposedAlternative {
    /// Reads a proposal; forbidden keys are refused by name.
    pub(in crate::machine) fn read(value: &Value) -> Result<Self, ProposalMistake> {
        let of_step = FORBIDDEN_KEYS.iter().filter(|key| value.get(**key).is_some());
        let mut refused: Vec<String> = of_step.map(|key| (*key).to_owned()).collect();
        for (part, keys) in CHANGEABLE_PARTS {
            let said = value.get(part).and_then(Value::as_object);
            let said = said.into_iter().flat_map(serde_json::Map::keys);
            let others = said.filter(|key| !keys.contains(&key.as_str()));
            refused.extend(others.map(|key| format!("{part}.{}", key.escape_debug())));
        }
        if !refused.is_empty() {
            return Err(ProposalMistake::ForbiddenKeys(refused));
        }
        Ok(Self::deserialize(value)?)
    }

    /// Returns the alternative that it proposes for a step of a plan.
    pub(in crate::machine) fn alternative(
        &self,
        plan: &Plan,
        written: &Step,
    ) -> Result<Alternative, ProposalMistake> {
        self.fits(&written.work)?;
        if written.alternatives.iter().any(|known| known.id == self.id) {
            return Err(ProposalMistake::KnownId(self.id.clone()));
        }
        self.is_sound()?;
        let mut step = written.clone();
        step.alternatives = Vec::new();
        if let Some(process) = self.process(written)? {
            (step.work, step.tool) = (process, None);
        } else if let Some(work) = self.changed_work(plan, written)? {
            step.work = work;
        }
        step.tool = self.tool.clone().or(step.tool);
        step.target = self.target.clone().or(step.target);
        step.cwd = self.cwd.as_deref().map(Template::literal).or(step.cwd);
        if let Some(timeout) = &self.timeout {
            let limit = parse_duration(timeout).map_err(|duration_error| ProposalMistake::Timeout {
                text: timeout.clone(),
                duration_error,
            })?;
            if limit.is_zero() {
                return Err(ProposalMistake::ZeroTimeout);
            }
            step.timeout = Some(limit);
        }
        self.overlay(written, &mut step)?;
        let same = written.ways().enumerate().find(|(_, known)| work_of(known) == work_of(&step));
        if let Some((way, _)) = same {
            return Err(ProposalMistake::SameWork(written.alternative_id(way).cloned()));
        }
        let other = (written.ways().enumerate()).map(|(way, known)| (written.tool(way), known)).find(
            |(tool, known)| {
                executes(known) == executes(&step) && self.tool.as_ref().is_some_and(|said| said != tool)
            },
        );
        if let Some((tool, _)) = other {
            return Err(ProposalMistake::SameTool(tool));
        }
        Ok(Alternative {
            id: self.id.clone(),
            replaces: self.run.is_some() || self.exec.is_some() || self.plan.is_some(),
            step: Arc::new(step),
        })
    }

    /// Checks that it changes the kind of work that the step does.
    fn fits(&self, work: &StepWork) -> Result<(), ProposalMistake> {
        let (kind, keys): (_, &[&str]) = match work {
            StepWork::Run(_) => ("run", &["run", "exec", "env", "cwd"]),
            StepWork::Exec(_) => ("exec", &["run", "exec", "env", "cwd"]),
            StepWork::Agent(_) => ("agent", &["agent"]),
            StepWork::Http(_) => ("http", &["http"]),
            StepWork::Uses(_) => ("uses", &["uses", "with"]),
            StepWork::Skill(_) => ("skill", &["skill"]),
            StepWork::Generated(_) => ("uses", &["plan"]),
            StepWork::Wait(_) => return Err(ProposalMistake::WaitStep),
            StepWork::Approve(_) => return Err(ProposalMistake::ApproveStep),
        };
        let said = [
            ("run", self.run.is_some()),
            ("exec", self.exec.is_some()),
            ("agent", self.agent.is_some()),
            ("http", self.http.is_some()),
            ("uses", self.uses.is_some()),
            ("with", !self.with.is_empty()),
            ("plan", self.plan.is_some()),
            ("skill", self.skill.is_some()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
        ];
        let others = said.into_iter().filter(|(key, is_said)| *is_said && !keys.contains(key));
        let keys: Vec<&str> = others.map(|(key, _)| key).collect();
        if keys.is_empty() { Ok(()) } else { Err(ProposalMistake::OtherWork { keys, kind }) }
    }

    /// Returns the work with its changes, if it is no process and there are any.
    fn changed_work(&self, plan: &Plan, written: &Step) -> Result<Option<StepWork>, ProposalMistake> {
        let changed = match &written.work {
            StepWork::Agent(work) => {
                let changed = self.agent.as_ref().map(|said| said.apply_to(work, plan)).transpose()?;
                changed.map(Box::new).map(StepWork::Agent)
            }
            StepWork::Http(call) => {
                let changed =
                    self.http.as_ref().map(|said| said.apply_to(call, plan, written)).transpose()?;
                changed.map(Box::new).map(StepWork::Http)
            }
            StepWork::Uses(nested) => self.nested(nested, written)?.map(Box::new).map(StepWork::Uses),
            StepWork::Skill(call) => {
                let changed = self.skill.as_ref().map(|said| said.apply_to(call)).transpose()?;
                changed.map(Box::new).map(StepWork::Skill)
            }
            StepWork::Generated(made) => {
                if self.plan.is_none() && made.text.is_none() {
                    return Err(ProposalMistake::NoPlan);
                }
                let text = self.plan.as_deref().map(Template::literal);
                let changed = text.map(|text| GeneratedPlan { text: Some(text), ..made.as_ref().clone() });
                changed.map(Box::new).map(StepWork::Generated)
            }
            StepWork::Run(_) | StepWork::Exec(_) | StepWork::Wait(_) | StepWork::Approve(_) => None,
        };
        Ok(changed)
    }

    /// Returns its texts for a model.
    pub(in crate::machine) fn texts(&self) -> Vec<String> {
        let of_agent = self.agent.as_ref().map(ProposedAgent::texts).unwrap_or_default();
        of_agent.into_iter().chain(self.plan.clone()).collect()
    }

    /// Checks that its words are well-formed, and its directory lies in the workspace.
    fn is_sound(&self) -> Result<(), ProposalMistake> {
        for word in [&self.tool, &self.target].into_iter().flatten() {
            let shows = !word.chars().any(char::is_control);
            // A word that looks like a blocked one must be that word.
            let bare = !word.is_empty() && word.trim() == word;
            if !bare || word.contains("{{") || !shows {
                return Err(ProposalMistake::NotPlainWord);
            }
        }
        if let Some(cwd) = &self.cwd
            && (cwd.is_empty()
                || cwd.starts_with(['/', '~'])
                || cwd.contains("{{")
                || cwd.split('/').any(|part| part == ".."))
        {
            return Err(ProposalMistake::OutsideFolder(cwd.clone()));
        }
        let own = self.env.keys().find(|name| name.as_str().starts_with("WF_"));
        own.map_or(Ok(()), |name| Err(ProposalMistake::ReservedName(name.clone())))
    }

    /// Applies its variables over those of the step. It reads nothing that the step does not.
    fn overlay(&self, written: &Step, step: &mut Step) -> Result<(), ProposalMistake> {
        let words = match &written.work {
            StepWork::Exec(words) => words.as_slice(),
            _ => &[],
        };
        let known = KnownReads::of(written.env.iter().map(|own| &own.value).chain(words));
        for (name, text) in &self.env {
            let value = known.template(name.as_str(), text)?;
            match step.env.iter_mut().find(|own| own.name == *name) {
                Some(own) => own.value = value,
                None => step.env.push(EnvVar { name: name.clone(), value }),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
