use serde_json::Value;

use crate::diag::Severity;
use crate::skill::{Declared, DeclaredScript, Skill};
use crate::spec::decode::Mistakes;
use crate::spec::{self, yaml};

/// What a skill declares of its scripts; or why that cannot be read, in one sentence.
pub(super) fn declared(skill: &Skill, text: &str) -> Result<Declared, String> {
    let Some(own) = skill.own else {
        return Ok(Declared::default());
    };
    let (_, wrong) = spec::skill_own(text, Some(own));
    if let Some(first) = wrong
        .into_iter()
        .find(|one| one.severity() == Severity::Error)
    {
        return Err(format!("`metadata.wf`: {}", first.message));
    }
    let node = yaml::read(text, own, &mut Mistakes::default());
    let value = node.map(|node| node.json()).unwrap_or_default();
    let mut declared = Declared::default();
    let Some(scripts) = value.get("scripts").and_then(Value::as_object) else {
        return Ok(declared);
    };
    for (path, said) in scripts {
        declared.scripts.insert(path.clone(), script(path, said)?);
    }
    Ok(declared)
}

fn script(path: &str, said: &Value) -> Result<DeclaredScript, String> {
    let allow = said.get("allow");
    let mut script = DeclaredScript {
        net: allow.and_then(|allow| allow.get("net")) == Some(&Value::Bool(true)),
        ..DeclaredScript::default()
    };
    for env in [said.get("env"), allow.and_then(|allow| allow.get("env"))]
        .into_iter()
        .flatten()
    {
        let names = env
            .as_array()
            .ok_or_else(|| format!("`env` of {path} is no list"))?;
        script
            .env
            .extend(names.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    if let Some(tried) = said.get("dry_run") {
        let mut flags = Vec::new();
        for (name, value) in tried
            .get("args")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            flag(&mut flags, name, value);
        }
        script.dry_run = Some(flags);
    }
    Ok(script)
}

/// A value as flags: `--name VALUE`; a boolean as `--name` or nothing; a list as one for each.
fn flag(flags: &mut Vec<String>, name: &str, value: &Value) {
    let flag = format!("--{name}");
    match value {
        Value::Null | Value::Bool(false) => {}
        Value::Bool(true) => flags.push(flag),
        Value::Array(all) => all.iter().for_each(|one| self::flag(flags, name, one)),
        Value::String(text) => flags.extend([flag, text.clone()]),
        other => flags.extend([flag, other.to_string()]),
    }
}
