use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::Value;

use crate::params::{self, ParamArgs};
use wf_app::approve::usage_error;
use wf_app::{Caller, CommandError};
use wf_base::keyword::Keyword;
use wf_model::{GoalParam, JsonObject, PlanParam, PlanParts, ValueSchema};
use wf_sign::approval::ParamBound;

/// The parameters to approve.
#[derive(Args, Clone, Debug, Default)]
pub struct ParamBoundArgs {
    #[command(flatten)]
    params: ParamArgs,
    /// Approve every value of this parameter that the plan permits
    #[arg(long, value_name = "NAME")]
    any: Vec<String>,
    /// Approve every value of this parameter that a JSON Schema permits
    #[arg(long, value_name = "NAME=SCHEMA")]
    within: Vec<String>,
}

/// The permitted values of each parameter, and the values that are known.
pub(super) struct ParamBounds {
    pub(super) bounds: BTreeMap<String, ParamBound>,
    pub(super) known_values: JsonObject,
}

/// Reads the bounds on the parameters of a plan that are to be approved.
pub(super) fn param_bounds(
    caller: &dyn Caller,
    parts: &PlanParts,
    is_goal: bool,
    args: &ParamBoundArgs,
) -> Result<ParamBounds, CommandError> {
    let mut open: BTreeMap<String, ParamBound> = BTreeMap::new();
    for name in &args.any {
        let param = declared_bound(&parts.params, name)?;
        open.insert(name.clone(), ParamBound::Within(param.schema.text().clone()));
    }
    for text in &args.within {
        let Some((name, schema)) = text.split_once('=') else {
            return Err(usage_error(format!("--within {text}: expected NAME=SCHEMA")));
        };
        declared_bound(&parts.params, name)?;
        let read = serde_json::from_str::<Value>(schema).map_err(|error| error.to_string());
        let sound = read.and_then(|schema| {
            let made = ValueSchema::new(schema.clone()).map_err(|bad| bad.to_string());
            made.map(|_| schema)
        });
        let schema = sound.map_err(|reason| {
            usage_error(format!("--within {name}: invalid JSON Schema: {reason}"))
                .hint(format!("for example: --within '{name}={{\"enum\": [\"a\", \"b\"]}}'"))
        })?;
        open.insert(name.to_owned(), ParamBound::Within(schema));
    }
    if is_goal {
        // The values that a reconciliation gives are known only then.
        for &given in GoalParam::ALL {
            let param = declared_bound(&parts.params, given.as_str())?;
            let any = ParamBound::Within(param.schema.text().clone());
            open.insert(given.as_str().to_owned(), any);
        }
    }
    let names: BTreeSet<&str> = open.keys().map(String::as_str).collect();
    let exact = parts.params.iter();
    let exact = exact.filter(|param| !names.contains(param.name.as_str()));
    let exact: Vec<PlanParam> = exact.cloned().collect();
    let given = params::resolve_some(caller, &exact, &args.params)?;
    let mut bounds = open;
    bounds.extend(given.iter().map(|(name, value)| (name.clone(), ParamBound::Is(value.clone()))));
    Ok(ParamBounds { bounds, known_values: given })
}

fn declared_bound<'a>(params: &'a [PlanParam], name: &str) -> Result<&'a PlanParam, CommandError> {
    let found = params.iter().find(|param| param.name.as_str() == name);
    found.ok_or_else(|| usage_error(format!("unknown parameter `{name}`")))
}

/// The approved bound of a parameter, in one line.
pub(super) fn bound_line(name: &str, bound: &ParamBound) -> String {
    match bound {
        ParamBound::Is(value) => format!("  {name} = {value}\n"),
        ParamBound::Within(schema) => format!("  {name}: any value within {schema}\n"),
    }
}
