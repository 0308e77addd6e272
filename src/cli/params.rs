use std::collections::BTreeSet;
use std::io::{BufRead, Read};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::{Exit, Failure, Ui, normal, relative};
use crate::model::{Object, Param, Parts, resolve_params};
use crate::report::{BOLD, DIM, paint};

/// How often a value is asked for before the command gives up.
const TRIES: usize = 3;

/// The largest file of parameters, in bytes.
const LARGEST: u64 = 16 * 1024 * 1024;

/// The parameters of a plan, as given.
#[derive(Args, Clone, Debug, Default)]
pub struct ParamArgs {
    /// A parameter; text, or JSON where the plan asks for something else
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// A JSON file with parameters; those of -p come before it
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// The parameters of a run: given, asked for on a terminal, or by default.
pub fn resolve(ui: &Ui, parts: &Parts, args: &ParamArgs) -> Result<Object, Failure> {
    some(ui, &parts.params, args)
}

/// The same for some of the parameters of a plan.
pub fn some(ui: &Ui, params: &[Param], args: &ParamArgs) -> Result<Object, Failure> {
    complete(ui, params, args, Object::new())
}

fn complete(
    ui: &Ui,
    params: &[Param],
    args: &ParamArgs,
    mut given: Object,
) -> Result<Object, Failure> {
    if let Some(path) = &args.params {
        given.extend(file(ui, path)?);
    }
    given.extend(pairs(&args.param, params)?);
    if ui.env.asks {
        ask_all(ui, params, &mut given)?;
    }
    Ok(resolve_params(params, &given)?)
}

/// The parameters of a run that repeats another: those of that run as far as the plan still has
/// them, but for what is given anew.
pub fn again(ui: &Ui, parts: &Parts, args: &ParamArgs, old: &Object) -> Result<Object, Failure> {
    let has = |name: &str| parts.params.iter().any(|param| param.name.as_str() == name);
    let old = old.iter().filter(|(name, _)| has(name));
    let old = old.map(|(name, value)| (name.clone(), value.clone()));
    complete(ui, &parts.params, args, old.collect())
}

fn file(ui: &Ui, path: &std::path::Path) -> Result<Object, Failure> {
    let path = normal(&ui.env.cwd().join(path));
    let shown = relative(&path, ui.env.cwd());
    let wrong = |why: &str| Failure::new(Exit::Usage, format!("--params {shown}: {why}"));
    let mut text = Vec::new();
    std::fs::File::open(&path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut text))
        .map_err(|error| wrong(&error.to_string()))?;
    if text.len() as u64 > LARGEST {
        return Err(wrong(&format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    match serde_json::from_slice(&text) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(_) => Err(wrong("it is not a JSON object")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}

/// Reads `name=value` pairs by the types that the plan declares.
fn pairs(texts: &[String], params: &[Param]) -> Result<Object, Failure> {
    let mut given = Object::new();
    let mut seen = BTreeSet::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            let message = format!("-p {text}: a parameter is given as NAME=VALUE");
            return Err(Failure::new(Exit::Usage, message));
        };
        if !seen.insert(name) {
            let message = format!("-p {name}: the parameter is given twice");
            return Err(Failure::new(Exit::Usage, message));
        }
        let declared = params.iter().find(|param| param.name.as_str() == name);
        let value = declared.map_or_else(|| value.into(), |param| param.schema.read(value));
        given.insert(name.to_owned(), value);
    }
    Ok(given)
}

/// Asks for what is missing, unless something is wrong that no answer would mend.
fn ask_all(ui: &Ui, params: &[Param], given: &mut Object) -> Result<(), Failure> {
    let Err(bad) = resolve_params(params, given) else {
        return Ok(());
    };
    if bad.problems.len() > bad.missing.len() {
        return Ok(());
    }
    for param in params {
        if bad.missing.contains(&param.name) {
            given.insert(param.name.to_string(), ask(ui, param)?);
        }
    }
    Ok(())
}

fn ask(ui: &Ui, param: &Param) -> Result<Value, Failure> {
    for _ in 0..TRIES {
        ui.say(&question(param));
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer).unwrap_or(0);
        if read == 0 {
            break;
        }
        let answer = answer.trim_end_matches(['\n', '\r']);
        if answer.is_empty() {
            ui.say("it is required; to give an empty text, use -p\n");
            continue;
        }
        let value = param.schema.read(answer);
        match param.schema.mistake(&value) {
            None => return Ok(value),
            Some(mistake) => ui.say_line(&mistake),
        }
    }
    let message = format!(
        "parameter `{0}` is required: give it with -p {0}=…",
        param.name
    );
    Err(Failure::new(Exit::Usage, message))
}

fn question(param: &Param) -> String {
    let mut hints = Vec::new();
    let schema = param.schema.text();
    let word = |key: &str| schema.get(key).and_then(Value::as_str);
    hints.extend(
        word("format")
            .or(param.schema.simple_type())
            .map(str::to_owned),
    );
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
    use super::{pairs, question};
    use crate::model::{Param, Schema};
    use crate::name::Name;
    use crate::report::plain;
    use serde_json::{Value, json};

    fn param(schema: Value) -> Param {
        Param {
            name: Name::parse("day").unwrap(),
            schema: Schema::new(schema).unwrap(),
            default: None,
            taint: crate::model::Taint::Owner,
            description: Some("Which day".into()),
        }
    }

    #[test]
    fn a_question_says_what_fits() {
        let day = param(json!({"type": "string", "format": "date"}));
        assert_eq!(plain(&question(&day)), "Which day\nday (date): ");
        let choice = param(json!({"type": "string", "enum": ["eu", "us"]}));
        assert_eq!(
            plain(&question(&choice)),
            "Which day\nday (string, one of eu, us): "
        );
    }

    #[test]
    fn values_are_read_by_their_types() {
        let check = |kind: &str, text: &str| {
            let param = param(json!({ "type": kind }));
            pairs(&[text.to_owned()], &[param]).map(|given| given.get("day").cloned())
        };
        assert_eq!(check("integer", "day=3"), Ok(Some(json!(3))));
        assert_eq!(check("string", "day=a=b"), Ok(Some(json!("a=b"))));
        assert!(check("string", "day").is_err());
        let twice = ["day=1".to_owned(), "day=2".to_owned()];
        assert!(pairs(&twice, &[param(json!({}))]).is_err());
    }
}
