use std::{collections::BTreeSet, io::Read, path::PathBuf};

use clap::Args;
use serde_json::Value;

use wf_app::{Caller, CliExitCode, CommandError, Host, normalize_path, relative_path};
use wf_base::{
    exact_json,
    untrusted::{BOLD, DIM, paint},
};
use wf_model::{JsonObject, PlanParam, PlanParts, resolve_params};

/// The number of times a value is asked for before the command gives up.
const MAX_PROMPTS: usize = 3;

/// The largest file of parameters, in bytes.
const MAX_FILE_SIZE: u64 = 16 * 1024 * 1024;

/// The parameters of a plan, as given.
#[derive(Args, Clone, Debug, Default)]
pub struct ParamArgs {
    /// Set a parameter (NAME=VALUE; non-string values are parsed as JSON)
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Read parameters from a JSON file (overridden by -p)
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// Resolves the parameters of a run: given, asked for on a terminal, or default.
pub fn resolve(caller: &dyn Caller, parts: &PlanParts, args: &ParamArgs) -> Result<JsonObject, CommandError> {
    resolve_some(caller, &parts.params, args)
}

/// Does the same for some of the parameters of a plan.
pub fn resolve_some(
    caller: &dyn Caller,
    params: &[PlanParam],
    args: &ParamArgs,
) -> Result<JsonObject, CommandError> {
    resolve_all(caller, params, args, JsonObject::new())
}

fn resolve_all(
    caller: &dyn Caller,
    params: &[PlanParam],
    args: &ParamArgs,
    mut values: JsonObject,
) -> Result<JsonObject, CommandError> {
    if let Some(path) = &args.params {
        values.extend(params_from_file(caller.host(), path)?);
    }
    values.extend(parse_pairs(&args.param, params)?);
    if caller.is_interactive() {
        ask_all(caller, params, &mut values)?;
    }
    resolve_params(params, &values).map_err(|errors| {
        let missing: Vec<String> = errors.missing.iter().map(|name| format!("-p {name}=…")).collect();
        let error = CommandError::from(errors);
        if missing.is_empty() { error } else { error.hint(format!("set it: {}", missing.join(" "))) }
    })
}

/// Resolves the parameters of a repetition: the values of the repeated run for parameters
/// still in the plan, overridden by the given ones.
pub fn resolve_for_retry(
    caller: &dyn Caller,
    parts: &PlanParts,
    args: &ParamArgs,
    old: &JsonObject,
) -> Result<JsonObject, CommandError> {
    let has = |name: &str| parts.params.iter().any(|param| param.name.as_str() == name);
    let old = old.iter().filter(|(name, _)| has(name));
    let old = old.map(|(name, value)| (name.clone(), value.clone()));
    resolve_all(caller, &parts.params, args, old.collect())
}

fn params_from_file(host: &Host, path: &std::path::Path) -> Result<JsonObject, CommandError> {
    let path = normalize_path(&host.cwd().join(path));
    let shown = relative_path(&path, host.cwd());
    let wrong = |reason: &str| CommandError::new(CliExitCode::Usage, format!("--params {shown}: {reason}"));
    let mut text = Vec::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(MAX_FILE_SIZE + 1).read_to_end(&mut text))
        .map_err(|error| wrong(&error.to_string()))?;
    if text.len() as u64 > MAX_FILE_SIZE {
        return Err(wrong(&format!("it is larger than {} MiB", MAX_FILE_SIZE >> 20)));
    }
    match exact_json::read_bytes(&text) {
        Ok(Value::Object(values)) => Ok(values),
        Ok(_) => Err(wrong("it is not a JSON object")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

/// Reads `name=value` pairs by the declared types of the plan.
fn parse_pairs(texts: &[String], params: &[PlanParam]) -> Result<JsonObject, CommandError> {
    let mut values = JsonObject::new();
    let mut names = BTreeSet::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            let message = format!("-p {text}: expected NAME=VALUE");
            return Err(CommandError::new(CliExitCode::Usage, message));
        };
        if !names.insert(name) {
            let message = format!("-p {name}: duplicate parameter");
            return Err(CommandError::new(CliExitCode::Usage, message));
        }
        let declared = params.iter().find(|param| param.name.as_str() == name);
        let value = declared.map_or_else(|| value.into(), |param| param.schema.read(value));
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}

/// Asks for missing values, unless there is an error beyond any answer.
fn ask_all(caller: &dyn Caller, params: &[PlanParam], values: &mut JsonObject) -> Result<(), CommandError> {
    let Err(errors) = resolve_params(params, values) else {
        return Ok(());
    };
    if errors.problems.len() > errors.missing.len() {
        return Ok(());
    }
    for param in params {
        if errors.missing.contains(&param.name) {
            values.insert(param.name.to_string(), ask_value(caller, param)?);
        }
    }
    Ok(())
}

fn ask_value(caller: &dyn Caller, param: &PlanParam) -> Result<Value, CommandError> {
    for _ in 0..MAX_PROMPTS {
        let answer = caller.ask(&question(param)).unwrap_or_default();
        if answer.is_empty() {
            break;
        }
        let answer = answer.trim_end_matches(['\n', '\r']);
        if answer.is_empty() {
            caller.message("a value is required; to pass an empty string, use -p\n");
            continue;
        }
        let value = param.schema.read(answer);
        match param.schema.first_mistake(&value) {
            None => return Ok(value),
            Some(mistake) => caller.message_line(&mistake),
        }
    }
    let message = format!("missing parameter `{0}`: pass it with -p {0}=…", param.name);
    Err(CommandError::new(CliExitCode::Usage, message))
}

fn question(param: &PlanParam) -> String {
    let mut hints = Vec::new();
    let schema = param.schema.text();
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    hints.extend(word("format").or(param.schema.simple_type()).map(str::to_owned));
    if let Some(Value::Array(choices)) = schema.get("enum") {
        let choice = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let choices: Vec<String> = choices.iter().map(choice).collect();
        hints.push(format!("one of {}", choices.join(", ")));
    }
    let about = param.description.as_deref().map(|text| format!("{text}\n"));
    let hints = paint(DIM, &format!("({})", hints.join(", "))).replace("()", "");
    let name = paint(BOLD, param.name.as_str());
    format!("{}{name} {hints}: ", about.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{parse_pairs, question};
    use serde_json::{Value, json};
    use wf_base::{name::Name, untrusted::plain};
    use wf_model::{PlanParam, ValueSchema};

    fn param(schema: Value) -> PlanParam {
        PlanParam {
            name: Name::parse("day").unwrap(),
            schema: ValueSchema::new(schema).unwrap(),
            default: None,
            taint: wf_model::TaintLevel::Owner,
            description: Some("Which day".into()),
        }
    }

    #[test]
    fn a_question_says_what_fits() {
        let day = param(json!({"type": "string", "format": "date"}));
        assert_eq!(plain(&question(&day)), "Which day\nday (date): ");
        let choice = param(json!({"type": "string", "enum": ["eu", "us"]}));
        assert_eq!(plain(&question(&choice)), "Which day\nday (string, one of eu, us): ");
    }

    #[test]
    fn values_are_read_by_their_types() {
        let check = |kind: &str, text: &str| {
            let param = param(json!({ "type": kind }));
            parse_pairs(&[text.to_owned()], &[param]).map(|values| values.get("day").cloned())
        };
        assert_eq!(check("integer", "day=3"), Ok(Some(json!(3))));
        assert_eq!(check("string", "day=a=b"), Ok(Some(json!("a=b"))));
        assert!(check("string", "day").is_err());
        let twice = ["day=1".to_owned(), "day=2".to_owned()];
        assert!(parse_pairs(&twice, &[param(json!({}))]).is_err());
    }
}
