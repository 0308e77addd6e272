//! The skills that an agent works by.

use super::check::limits;
use super::skill::args;
use super::step::allow;
use crate::ast::{AllowSpec, SkillScript};
use crate::{LoadedSkill, LoadedSpec};
use wf_base::name::SkillName;
use wf_model::{AgentSkill, AgentSkillScript, RequiredOutput, SkillCall, interpreter};

/// Returns a skill with its text and its scripts; `None` if it could not be read.
pub(super) fn of(name: &SkillName, loaded: &LoadedSpec) -> Option<AgentSkill> {
    let (file, skill) = loaded.skill(name)?;
    let text = loaded.sources.get(file)?.slice(skill.skill.body);
    let scripts = skill.extension.scripts.iter();
    Some(AgentSkill {
        name: skill.name.clone(),
        folder: skill.folder.clone(),
        description: skill.skill.description.clone(),
        text: text.trim().to_owned(),
        scripts: scripts.map(|(path, declared)| script(skill, &path.value, declared)).collect(),
    })
}

fn script(skill: &LoadedSkill, path: &str, script: &SkillScript) -> AgentSkillScript {
    let required = script.args.iter().filter(|(_, arg)| arg.is_required());
    let outputs = script.outputs.iter();
    let nothing = AllowSpec::workspace_only();
    AgentSkillScript {
        description: script.description.clone(),
        call: SkillCall {
            skill: skill.name.clone(),
            folder: skill.folder.clone(),
            script: path.to_owned(),
            head: interpreter(path).iter().map(|&word| word.to_owned()).collect(),
            args: args(script, None),
            words: Vec::new(),
        },
        required: required.map(|(name, _)| name.value.clone()).collect(),
        allow: allow(script.allow.as_ref().unwrap_or(&nothing)),
        limits: limits(script.limits.as_ref()),
        timeout: script.timeout.as_ref().map(|period| period.value.0),
        outputs: outputs
            .map(|(name, output)| RequiredOutput { name: name.value.clone(), schema: output.schema.clone() })
            .collect(),
    }
}
