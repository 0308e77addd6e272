use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    JsonObject,
    expr::Template,
    programs::{
        sandbox::{ResourceLimits, SandboxPermissions},
        script::RequiredOutput,
        skill::{SkillCall, arg_mistake},
    },
};
use wf_base::name::{ArgName, SkillName};

/// A skill an agent works by: its text, and the scripts it may call.
#[derive(Clone, Debug, Serialize)]
pub struct AgentSkill {
    pub name: SkillName,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// Its purpose.
    pub description: String,
    /// The Markdown of its `SKILL.md`.
    pub text: String,
    /// The scripts it declares.
    pub scripts: Vec<AgentSkillScript>,
}

/// A script of a skill, as an agent may call it.
#[derive(Clone, Debug, Serialize)]
pub struct AgentSkillScript {
    /// A description of one line.
    pub description: Option<String>,
    /// The script with its arguments; the value of each is its default.
    pub call: SkillCall,
    /// The arguments a call must give.
    pub required: Vec<ArgName>,
    /// The most it may access.
    pub allow: SandboxPermissions,
    /// The most it may use.
    pub limits: ResourceLimits,
    /// The maximum time of a call.
    pub timeout: Option<Duration>,
    /// The values it writes.
    pub outputs: Vec<RequiredOutput>,
}

impl AgentSkill {
    /// The maximum number of characters of the texts of all skills of an agent.
    pub const MAX_CHARS: usize = 60_000;

    /// Returns a script by its path, or by its name without folder and extension.
    pub fn script(&self, named: &str) -> Option<&AgentSkillScript> {
        let is_named = |script: &&AgentSkillScript| {
            let path = script.call.script.as_str();
            let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
            path == named || file.rsplit_once('.').map_or(file, |(stem, _)| stem) == named
        };
        let exact = self.scripts.iter().find(|script| script.call.script == named);
        exact.or_else(|| {
            let mut matching = self.scripts.iter().filter(is_named);
            matching.next().filter(|_| matching.next().is_none())
        })
    }
}

/// The mistake in the arguments of a script, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillArgsMistake {
    /// The script has no such argument.
    #[error("`{script}` has no argument {name}; it has {known}")]
    Unknown {
        script: String,
        /// The name, quoted.
        name: String,
        /// The arguments that it has.
        known: String,
    },
    #[error("`{script}` needs the argument `{name}`")]
    Missing { script: String, name: ArgName },
    /// A value does not satisfy the schema of the skill.
    #[error("argument `{name}` of `{script}`: {mistake}")]
    Misfit { script: String, name: ArgName, mistake: String },
}

impl AgentSkillScript {
    /// Returns the call with the given arguments.
    pub fn with(&self, values: &JsonObject) -> Result<SkillCall, SkillArgsMistake> {
        let script = self.call.path();
        let mut call = self.call.clone();
        for (name, value) in values {
            let Some(arg) = call.args.iter_mut().find(|arg| arg.name.as_str() == name) else {
                let arg_names: Vec<String> =
                    self.call.args.iter().map(|arg| format!("`{}`", arg.name)).collect();
                let known = if arg_names.is_empty() { "none".to_owned() } else { arg_names.join(", ") };
                return Err(SkillArgsMistake::Unknown { script, name: json!(name).to_string(), known });
            };
            let value = match value {
                Value::String(text) => arg.schema.read(text),
                other => other.clone(),
            };
            if let Some(mistake) = arg_mistake(&arg.schema, arg.position, &value) {
                return Err(SkillArgsMistake::Misfit { script, name: arg.name.clone(), mistake });
            }
            arg.value = Some(Template::of_value(value));
        }
        match self.required.iter().find(|name| !values.contains_key(name.as_str())) {
            Some(name) => Err(SkillArgsMistake::Missing { script, name: name.clone() }),
            None => Ok(call),
        }
    }

    /// Returns the JSON Schema of its arguments.
    pub fn arguments_schema(&self) -> Value {
        let properties = self.call.args.iter().map(|arg| (arg.name.to_string(), arg.schema.text().clone()));
        let required: Vec<&str> = self.required.iter().map(ArgName::as_str).collect();
        json!({
            "type": "object",
            "properties": properties.collect::<JsonObject>(),
            "required": required,
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{AgentSkill, AgentSkillScript, SkillArgsMistake};
    use crate::{
        expr::{ExprReference, ExprScope, StatusFunction},
        json::schema::ValueSchema,
        programs::{
            sandbox::{ResourceLimits, SandboxPermissions},
            skill::{SkillArg, SkillCall},
        },
    };
    use wf_base::name::{ArgName, SkillName};

    struct Nothing;

    impl ExprScope for Nothing {
        fn value(&self, _reference: &ExprReference) -> Option<Value> {
            None
        }

        fn test(&self, _function: StatusFunction, _: Option<&str>) -> bool {
            false
        }
    }

    fn script(path: &str) -> AgentSkillScript {
        let arg = |name: &str, schema: Value| SkillArg {
            name: ArgName::parse(name).unwrap(),
            schema: ValueSchema::new(schema).unwrap(),
            value: None,
            position: None,
        };
        AgentSkillScript {
            description: None,
            call: SkillCall {
                skill: SkillName::parse("words").unwrap(),
                folder: "skills/words".into(),
                script: path.into(),
                head: vec!["sh".into()],
                args: vec![
                    arg("path", json!({"type": "string", "maxLength": 9})),
                    arg("count", json!({"type": "integer"})),
                ],
                words: Vec::new(),
            },
            required: vec![ArgName::parse("path").unwrap()],
            allow: SandboxPermissions::default(),
            limits: ResourceLimits::default(),
            timeout: None,
            outputs: Vec::new(),
        }
    }

    fn called(given: Value) -> Result<Vec<String>, SkillArgsMistake> {
        let Value::Object(given) = given else { panic!("an object") };
        let call = script("scripts/count.sh").with(&given)?;
        Ok(call.argv(None, &Nothing).unwrap().split_off(2))
    }

    #[test]
    fn arguments_are_those_of_the_skill() {
        assert_eq!(called(json!({"path": "a b", "count": "3"})).unwrap(), ["--path=a b", "--count=3"]);
        // Text that looks like a template is a text.
        assert_eq!(called(json!({"path": "{{ x }}"})).unwrap(), ["--path={{ x }}"]);
        let wrong = |given: Value| called(given).unwrap_err().to_string();
        assert_eq!(
            wrong(json!({"pth": "a"})),
            "`skills/words/scripts/count.sh` has no argument \"pth\"; it has `path`, `count`"
        );
        assert_eq!(wrong(json!({"count": 1})), "`skills/words/scripts/count.sh` needs the argument `path`");
        assert!(wrong(json!({"path": "a", "count": "many"})).starts_with("argument `count` of "));
        assert!(wrong(json!({"path": "a\0"})).contains("NUL"));
    }

    #[test]
    fn a_script_is_known_by_its_path_and_by_its_name() {
        let skill = AgentSkill {
            name: SkillName::parse("words").unwrap(),
            folder: "skills/words".into(),
            description: "Counts.".into(),
            text: String::new(),
            scripts: vec![script("scripts/count.sh"), script("scripts/tell.sh"), script("other/tell.py")],
        };
        let found = |named: &str| skill.script(named).map(|script| script.call.script.as_str());
        assert_eq!(found("count"), Some("scripts/count.sh"));
        assert_eq!(found("other/tell.py"), Some("other/tell.py"));
        assert_eq!(found("tell"), None, "there are two");
        assert_eq!(found("scripts/count"), None);
    }
}
