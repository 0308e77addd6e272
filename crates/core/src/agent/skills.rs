//! The skills of an agent: their texts in its instructions, and the calls of their scripts.
//!
//! **Invariant:** a script is called with arguments that satisfy what its skill declares, or not at all.

use std::fmt::Write as _;

use serde_json::json;
use wf_model::{AgentSkill, AgentSkillScript, AgentTool, JsonObject, SkillArgsMistake, SkillCall};

use super::{ToolDefinition, tool_definition};

/// A call of a script of a skill, as a model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillRequest {
    pub skill: String,
    /// The script: its path, or its name without folder and extension.
    pub script: String,
    pub arguments: JsonObject,
}

/// A script of a skill called with valid arguments.
#[derive(Clone, Debug)]
pub struct SkillScriptCall<'a> {
    pub script: &'a AgentSkillScript,
    /// The script with the arguments.
    pub call: SkillCall,
}

/// Returns the texts of skills for the instructions of a model, in their order; empty if there are none.
pub(crate) fn skills_text(skills: &[AgentSkill]) -> String {
    let mut text = String::new();
    for AgentSkill { name, folder, description, text: body, .. } in skills {
        let _ =
            write!(text, "\n\n# Skill `{name}`\n\n{description}\n\nIts files are in `{folder}`.\n\n{body}");
    }
    text
}

/// Returns the definition of the tool running scripts of skills.
pub fn skill_definition(skills: &[AgentSkill]) -> ToolDefinition {
    let mut tool = tool_definition(AgentTool::Skill);
    tool.description.push_str(" The scripts are:");
    for AgentSkill { name, scripts, .. } in skills {
        for script in scripts {
            let about = script.description.as_deref().unwrap_or("no description");
            let _ = write!(
                tool.description,
                "\n- skill `{name}`, script `{}`: {about}; arguments: {}",
                script.call.script,
                script.arguments_schema(),
            );
        }
    }
    tool
}

/// The mistake in a call of a script, in one sentence for the model. Names are quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillRequestMistake {
    #[error("this step has no skill {skill}; it has {known}")]
    UnknownSkill { skill: String, known: String },
    #[error("the skill `{skill}` declares no script {script}; it declares {known}")]
    UnknownScript { skill: String, script: String, known: String },
    #[error(transparent)]
    Args(#[from] SkillArgsMistake),
}

/// Finds the script a model calls.
pub fn find_script<'a>(
    skills: &'a [AgentSkill],
    request: &SkillRequest,
) -> Result<SkillScriptCall<'a>, SkillRequestMistake> {
    let SkillRequest { skill, script, arguments } = request;
    let listed = |names: Vec<String>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let Some(found) = skills.iter().find(|known| known.name.as_str() == skill) else {
        let known = listed(skills.iter().map(|known| format!("`{}`", known.name)).collect());
        return Err(SkillRequestMistake::UnknownSkill { skill: json!(skill).to_string(), known });
    };
    let Some(declared) = found.script(script) else {
        let known = listed(found.scripts.iter().map(|known| format!("`{}`", known.call.script)).collect());
        let (skill, script) = (skill.clone(), json!(script).to_string());
        return Err(SkillRequestMistake::UnknownScript { skill, script, known });
    };
    Ok(SkillScriptCall { script: declared, call: declared.with(arguments)? })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SkillRequest, find_script, skill_definition, skills_text};
    use wf_base::name::{ArgName, SkillName};
    use wf_model::{
        AgentSkill, AgentSkillScript, ResourceLimits, SandboxPermissions, SkillArg, SkillCall, ValueSchema,
    };

    fn skill(name: &str, scripts: &[&str]) -> AgentSkill {
        let path = ArgName::parse("path").unwrap();
        let script = |script: &&str| AgentSkillScript {
            description: Some("Counts.".into()),
            call: SkillCall {
                skill: SkillName::parse(name).unwrap(),
                folder: format!("skills/{name}"),
                script: (*script).to_owned(),
                head: Vec::new(),
                args: vec![SkillArg {
                    name: path.clone(),
                    schema: ValueSchema::new(json!({"type": "string"})).unwrap(),
                    value: None,
                    position: None,
                }],
                words: Vec::new(),
            },
            required: vec![path.clone()],
            allow: SandboxPermissions::default(),
            limits: ResourceLimits::default(),
            timeout: None,
            outputs: Vec::new(),
        };
        AgentSkill {
            name: SkillName::parse(name).unwrap(),
            folder: format!("skills/{name}"),
            description: format!("About {name}."),
            text: "Do it well.".into(),
            scripts: scripts.iter().map(script).collect(),
        }
    }

    fn mistake(name: &str, script: &str, arguments: Value) -> Option<String> {
        let skills = [skill("words", &["scripts/count.sh"]), skill("prose", &[])];
        let Value::Object(arguments) = arguments else { panic!("an object") };
        find_script(&skills, &SkillRequest { skill: name.into(), script: script.into(), arguments })
            .err()
            .map(|mistake| mistake.to_string())
    }

    #[test]
    fn texts_are_in_the_order_of_the_plan() {
        assert_eq!(skills_text(&[]), "");
        let text = skills_text(&[skill("words", &[]), skill("a", &[])]);
        let words = "\n\n# Skill `words`\n\nAbout words.\n\nIts files are in `skills/words`.\n\nDo it well.";
        assert_eq!(text, format!("{words}{}", words.replace("words", "a")));
    }

    #[test]
    fn the_tool_tells_its_scripts_and_their_arguments() {
        let tool = skill_definition(&[skill("words", &["scripts/count.sh"])]);
        let tells = "skill `words`, script `scripts/count.sh`: Counts.; arguments: {";
        assert!(tool.description.contains(tells), "{}", tool.description);
        assert!(tool.description.contains("\"required\":[\"path\"]"), "{}", tool.description);
    }

    #[test]
    fn a_call_names_a_script_that_there_is() {
        assert_eq!(mistake("words", "count", json!({"path": "a"})), None);
        let unknown = "this step has no skill \"word\"; it has `words`, `prose`";
        assert_eq!(mistake("word", "count", json!({})).unwrap(), unknown);
        let unknown = "the skill `words` declares no script \"../x\"; it declares `scripts/count.sh`";
        assert_eq!(mistake("words", "../x", json!({})).unwrap(), unknown);
        let unknown = "the skill `prose` declares no script \"count\"; it declares none";
        assert_eq!(mistake("prose", "count", json!({})).unwrap(), unknown);
        let missing = "`skills/words/scripts/count.sh` needs the argument `path`";
        assert_eq!(mistake("words", "count", json!({})).unwrap(), missing);
    }
}
