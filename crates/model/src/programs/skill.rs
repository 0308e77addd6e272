use serde::Serialize;
use serde_json::Value;

use crate::{
    expr::{EvalError, ExprScope, Template},
    json::schema::ValueSchema,
    summary::{SummaryBuilder, argv_text},
};
use wf_base::name::{ArgName, SkillName};

/// A call of a script of a skill, with its arguments. Silas 5.2.1 c2.
#[derive(Clone, Debug, Serialize)]
pub struct SkillCall {
    pub skill: SkillName,
    /// Its folder, relative to the workspace.
    pub folder: String,
    /// The script, relative to the folder.
    pub script: String,
    /// The interpreter in front of the script; empty if the script is executed itself.
    pub head: Vec<String>,
    /// The declared arguments, in the order of their declaration.
    pub args: Vec<SkillArg>,
    /// The arguments passed verbatim, if the skill declares none for the script.
    pub words: Vec<Template>,
}

// A script of a skill, its interpreter and its arguments. Its folder is in the path.
view! { call: SkillCall in Work {
    plain skill as "name",
    plain script = call.path(),
    plain head as "program" = argv_text(head),
    own args = show_arguments,
    plain words in Data as "args" = argv_text(&words.iter().map(Template::source).collect::<Vec<_>>()),
} aside folder }

/// An argument a script takes.
#[derive(Clone, Debug, Serialize)]
pub struct SkillArg {
    pub name: ArgName,
    /// The schema its value must satisfy.
    pub schema: ValueSchema,
    /// Its value, or its default; `None`: it is omitted.
    pub value: Option<Template>,
    /// Its position among the positional arguments, from 1; `None`: it is a flag.
    pub position: Option<u32>,
}

fn show_arguments(args: &[SkillArg], summary: &mut SummaryBuilder) {
    for SkillArg { name, schema, value, position } in args {
        let key = format!("args.{name}");
        lines!(summary in Data { plain (&key) = value });
        summary.below(&key, |summary| {
            lines!(summary in Work { plain "position" = position, guard "schema" in Proof = schema });
        });
    }
}

/// The reason why the arguments of a script are invalid.
#[derive(Debug, thiserror::Error)]
pub enum SkillArgError {
    /// A value cannot be computed.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// A value does not satisfy the schema of the skill.
    #[error("argument `{name}` of `{script}`: {mistake}")]
    Misfit {
        /// The argument.
        name: ArgName,
        script: String,
        /// A description of the mistake in the value.
        mistake: String,
    },
}

impl SkillCall {
    /// The script, relative to the workspace.
    pub fn path(&self) -> String {
        format!("{}/{}", self.folder, self.script)
    }

    /// Returns the templates that compute its arguments.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let named = self.args.iter().filter_map(|arg| arg.value.as_ref());
        named.chain(&self.words)
    }

    /// Returns the program and the script, as they are called from a folder of the workspace.
    pub fn program(&self, cwd: Option<&str>) -> Vec<String> {
        let up = cwd.map_or(0, |cwd| {
            let parts = cwd.split('/');
            parts.filter(|part| !matches!(*part, "" | ".")).count()
        });
        // A program without a `/` would be looked up in `PATH`.
        let here = if up == 0 && self.head.is_empty() { "./" } else { "" };
        let script = format!("{here}{}{}", "../".repeat(up), self.path());
        self.head.iter().cloned().chain([script]).collect()
    }

    /// Returns the complete command line; every value satisfies the schema of the skill.
    pub fn argv(&self, cwd: Option<&str>, scope: &dyn ExprScope) -> Result<Vec<String>, SkillArgError> {
        let mut words = self.program(cwd);
        let mut placed = Vec::new();
        for (arg, value) in self.values(scope)? {
            match arg.position {
                None => words.extend(flags(&arg.name, &value)),
                Some(position) => placed.push((position, value)),
            }
        }
        placed.sort_by_key(|(position, _)| *position);
        words.extend(placed.iter().flat_map(|(_, value)| positional_words(value)));
        for word in &self.words {
            words.push(word.render(scope)?);
        }
        Ok(words)
    }

    /// Returns the values of its arguments, each satisfying the schema of the skill.
    pub fn values(&self, scope: &dyn ExprScope) -> Result<Vec<(&SkillArg, Value)>, SkillArgError> {
        let args = self.args.iter().filter_map(|arg| Some((arg, arg.value.as_ref()?)));
        let values = args.map(|(arg, template)| {
            let value = match template.value(scope)? {
                Value::String(text) => arg.schema.read(&text),
                other => other,
            };
            match arg_mistake(&arg.schema, arg.position, &value) {
                None => Ok((arg, value)),
                Some(mistake) => {
                    Err(SkillArgError::Misfit { name: arg.name.clone(), script: self.path(), mistake })
                }
            }
        });
        values.collect()
    }
}

/// Returns the mistake in the value of an argument, if any.
pub fn arg_mistake(schema: &ValueSchema, position: Option<u32>, value: &Value) -> Option<String> {
    if let Value::String(text) = value
        && text.contains('\0')
    {
        return Some("it contains a NUL character, which cannot be passed to a program".into());
    }
    if position.is_some() && positional_words(value).iter().any(|word| word.starts_with('-')) {
        let reason = "it starts with `-`, so a script would take it for an option";
        return Some(reason.into());
    }
    schema.first_mistake(value)
}

/// Formats a positional argument for the command line.
fn positional_words(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(positional_words).collect(),
        other => vec![other.to_string()],
    }
}

/// Formats a flag for the command line. The name and the value are one word, so no value can
/// be taken for another flag.
fn flags(name: &ArgName, value: &Value) -> Vec<String> {
    let flag = |value: &Value| match value {
        Value::String(text) => format!("--{name}={text}"),
        other => format!("--{name}={other}"),
    };
    match value {
        Value::Null | Value::Bool(false) => Vec::new(),
        Value::Bool(true) => vec![format!("--{name}")],
        Value::Array(items) => items.iter().map(flag).collect(),
        other => vec![flag(other)],
    }
}

/// Returns the interpreter for a script whose first line names a program, as [`interpreter`]
/// returns it; `None` if the program is not known.
pub fn interpreter_named(program: &str) -> Option<&'static [&'static str]> {
    let python = program.strip_prefix("python");
    let is_version = |rest: &str| rest.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    match program {
        "sh" => Some(&["sh"]),
        "bash" => Some(&["bash"]),
        "dash" => Some(&["dash"]),
        "ksh" => Some(&["ksh"]),
        "zsh" => Some(&["zsh"]),
        "node" => Some(interpreter("x.js")),
        "ruby" => Some(interpreter("x.rb")),
        "perl" => Some(interpreter("x.pl")),
        _ if python.is_some_and(is_version) => Some(interpreter("x.py")),
        _ => None,
    }
}

/// Returns the interpreter of a script by its file extension; empty if the file is itself a
/// program. The interpreter named on the first line takes precedence, once the file is known.
///
/// Python must not trust files beside a script that were not approved: neither compiled files nor
/// packages a user has installed.
pub fn interpreter(script: &str) -> &'static [&'static str] {
    let ending = script.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "sh" => &["sh"],
        "bash" => &["bash"],
        "py" => &["python3", "-B", "-s", "-X", "pycache_prefix=/nonexistent"],
        "js" | "mjs" | "cjs" => &["node"],
        "rb" => &["ruby"],
        "pl" => &["perl"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::{SkillArg, SkillArgError, SkillCall, interpreter};
    use crate::{
        expr::{ExprReference, ExprScope, StatusFunction, Template},
        json::schema::ValueSchema,
    };
    use serde_json::{Value, json};
    use wf_base::name::{ArgName, SkillName};

    /// A scope with a single parameter.
    struct One(Value);

    impl ExprScope for One {
        fn value(&self, reference: &ExprReference) -> Option<Value> {
            (reference.to_string() == "params.it").then(|| self.0.clone())
        }

        fn test(&self, _function: StatusFunction, _: Option<&str>) -> bool {
            false
        }
    }

    fn call(script: &str, schema: Value, value: &Template) -> SkillCall {
        SkillCall {
            skill: SkillName::parse("coding").unwrap(),
            folder: "skills/coding".into(),
            script: script.into(),
            head: interpreter(script).iter().map(|&word| word.into()).collect(),
            args: vec![SkillArg {
                name: ArgName::parse("dry-run").unwrap(),
                schema: ValueSchema::new(schema).unwrap(),
                value: Some(value.clone()),
                position: None,
            }],
            words: Vec::new(),
        }
    }

    fn words(schema: Value, value: Value) -> Result<Vec<String>, SkillArgError> {
        let template = Template::read("{{ params.it }}").unwrap();
        let argv = call("a.sh", schema, &template).argv(None, &One(value))?;
        Ok(argv[2..].to_vec())
    }

    #[test]
    fn values_are_flags() {
        let text = json!({ "type": "string" });
        assert_eq!(words(text.clone(), json!("a b")).unwrap(), ["--dry-run=a b"]);
        assert_eq!(words(text, json!("--other=1")).unwrap(), ["--dry-run=--other=1"]);
        let flag = json!({ "type": "boolean" });
        assert_eq!(words(flag.clone(), json!(true)).unwrap(), ["--dry-run"]);
        assert!(words(flag.clone(), json!("false")).unwrap().is_empty());
        assert!(words(flag, json!("yes")).is_err());
        let list = json!({ "type": "array", "items": { "type": "integer" } });
        assert_eq!(words(list, json!([1, 2])).unwrap(), ["--dry-run=1", "--dry-run=2"]);
    }

    #[test]
    fn what_has_a_position_comes_last_and_has_no_name() {
        let any = || ValueSchema::new(json!(true)).unwrap();
        let arg = |name: &str, position, value: &str| SkillArg {
            name: ArgName::parse(name).unwrap(),
            schema: any(),
            value: Some(Template::literal(value)),
            position,
        };
        let none = Template::literal("x");
        let mut given = call("a.sh", json!(true), &none);
        given.args = vec![arg("to", Some(2), "b c"), arg("from", Some(1), "a"), arg("fast", None, "yes")];
        let argv = |call: &SkillCall| call.argv(None, &One(Value::Null));
        assert_eq!(argv(&given).unwrap()[2..], ["--fast=yes", "a", "b c"]);
        given.args.push(arg("more", Some(3), "--force"));
        let bad = argv(&given).unwrap_err().to_string();
        assert!(bad.contains("argument `more`") && bad.contains("for an option"), "{bad}");
    }

    #[test]
    fn what_the_skill_does_not_take_is_refused() {
        let short = json!({ "type": "string", "maxLength": 3 });
        let bad = words(short, json!("long")).unwrap_err().to_string();
        assert!(bad.starts_with("argument `dry-run` of `skills/coding/a.sh`: "), "{bad}");
        let text = json!({ "type": "string" });
        assert!(words(text, json!("a\0b")).is_err());
    }

    #[test]
    fn a_script_is_found_from_where_it_runs() {
        let none = Template::literal("x");
        let text = json!({ "type": "string" });
        let own = call("scripts/run", text.clone(), &none);
        assert_eq!(own.program(None), ["./skills/coding/scripts/run"]);
        assert_eq!(own.program(Some("a/./b")), ["../../skills/coding/scripts/run"]);
        let python = call("x.py", text, &none).program(None);
        assert_eq!(python.first().map(String::as_str), Some("python3"));
        assert_eq!(python.last().map(String::as_str), Some("skills/coding/x.py"));
    }
}
