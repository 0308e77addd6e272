use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{CommandError, failure::usage_error};
use wf_base::keyword::Keyword;
use wf_model::{GoalParam, JsonObject, PlanParam, PlanParts, ValueSchema};
use wf_sign::approval::ParamBound;

/// The bounds to approve, as a person writes them.
pub struct ParamBoundsRequest<'a> {
    /// The parameters with every valid value approved.
    pub any: &'a [String],
    /// The parameters with the values within a JSON Schema approved: `NAME=SCHEMA`.
    pub within: &'a [String],
    /// Returns the values of the others, from a person if needed.
    pub values: &'a dyn Fn(&[PlanParam]) -> Result<JsonObject, CommandError>,
}

/// The permitted values of each parameter, and the known values.
pub(super) struct ParamBounds {
    pub bounds: BTreeMap<String, ParamBound>,
    pub known_values: JsonObject,
}

/// Reads the bounds on the parameters of a plan, to be approved.
pub(super) fn param_bounds(
    parts: &PlanParts,
    is_goal: bool,
    request: &ParamBoundsRequest<'_>,
) -> Result<ParamBounds, CommandError> {
    let mut open: BTreeMap<String, ParamBound> = BTreeMap::new();
    for name in request.any {
        let param = declared_bound(&parts.params, name)?;
        open.insert(name.clone(), ParamBound::Within(param.schema.text().clone()));
    }
    for text in request.within {
        let Some((name, schema)) = text.split_once('=') else {
            return Err(usage_error(format!("--within {text}: expected NAME=SCHEMA")));
        };
        declared_bound(&parts.params, name)?;
        let read = serde_json::from_str::<Value>(schema).map_err(|error| error.to_string());
        let sound = read.and_then(|schema| {
            let value_schema = ValueSchema::new(schema.clone()).map_err(|error| error.to_string());
            value_schema.map(|_| schema)
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
    let values = (request.values)(&exact)?;
    let mut bounds = open;
    bounds.extend(values.iter().map(|(name, value)| (name.clone(), ParamBound::Is(value.clone()))));
    Ok(ParamBounds { bounds, known_values: values })
}

fn declared_bound<'a>(params: &'a [PlanParam], name: &str) -> Result<&'a PlanParam, CommandError> {
    let plan_param = params.iter().find(|param| param.name.as_str() == name);
    plan_param.ok_or_else(|| usage_error(format!("unknown parameter `{name}`")))
}
