use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{JsonObject, json::schema::ValueSchema, summary::SummaryBuilder, taint::TaintLevel};
use wf_base::{diag::nearest, name::Name};

/// A typed input of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PlanParam {
    pub name: Name,
    /// The schema it must satisfy.
    pub schema: ValueSchema,
    /// The default value; `None`: a value is required.
    pub default: Option<Value>,
    /// The trust in the source of its value.
    pub taint: TaintLevel,
    /// A one-line description.
    #[serde(skip)]
    pub description: Option<String>,
}

pub(crate) fn show_params(params: &[PlanParam], summary: &mut SummaryBuilder) {
    for PlanParam { name, schema, default, taint, description } in params {
        let key = format!("params.{name}");
        lines!(summary in Data { plain (&key) = schema });
        summary.below(&key, |summary| {
            lines!(summary in Data {
                plain "default" = default,
                plain "taint" = taint.as_str(); *taint == TaintLevel::Owner,
                plain "description" in About = description,
            });
        });
    }
}

/// The problems of values given as parameters of a plan. All are reported at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub struct ParamErrors {
    /// One sentence each.
    pub problems: Vec<String>,
    /// The parameters that have neither value nor default.
    pub missing: Vec<Name>,
    /// The mistake in the value of each other parameter, without its name.
    pub mistakes: BTreeMap<Name, String>,
}

/// Completes values with defaults and validates them all.
pub fn resolve_values(params: &[PlanParam], values: &JsonObject) -> Result<JsonObject, ParamErrors> {
    let mut bad = ParamErrors { problems: Vec::new(), missing: Vec::new(), mistakes: BTreeMap::new() };
    let mut resolved = JsonObject::new();
    for name in values.keys() {
        if params.iter().all(|param| param.name.as_str() != name) {
            let nearest_name = nearest(name, params.iter().map(|param| param.name.as_str()));
            let meant = nearest_name.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            bad.problems.push(format!("unknown parameter `{name}`{meant}"));
        }
    }
    for param in params {
        let Some(value) = values.get(param.name.as_str()).or(param.default.as_ref()) else {
            bad.problems.push(format!("parameter `{}` is required", param.name));
            bad.missing.push(param.name.clone());
            continue;
        };
        match param.schema.first_mistake(value) {
            Some(mistake) => {
                bad.problems.push(format!("parameter `{}`: {mistake}", param.name));
                bad.mistakes.insert(param.name.clone(), mistake);
            }
            None => drop(resolved.insert(param.name.to_string(), value.clone())),
        }
    }
    if bad.problems.is_empty() { Ok(resolved) } else { Err(bad) }
}

#[cfg(test)]
mod tests {
    use super::{PlanParam, resolve_values};
    use crate::{JsonObject, json::schema::ValueSchema};
    use serde_json::json;
    use wf_base::name::Name;

    fn params() -> Vec<PlanParam> {
        let param = |name: &str, schema, default| PlanParam {
            name: Name::parse(name).unwrap(),
            schema: ValueSchema::new(schema).unwrap(),
            default,
            taint: crate::taint::TaintLevel::Owner,
            description: None,
        };
        vec![
            param("day", json!({ "type": "string" }), None),
            param("region", json!({ "enum": ["eu", "us"] }), Some(json!("eu"))),
        ]
    }

    fn object(value: &serde_json::Value) -> JsonObject {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn defaults_complete_what_is_given() {
        let resolved = resolve_values(&params(), &object(&json!({ "day": "mon" }))).unwrap();
        assert_eq!(resolved, object(&json!({ "day": "mon", "region": "eu" })));
    }

    #[test]
    fn every_problem_is_told() {
        let bad =
            resolve_values(&params(), &object(&json!({ "regoin": "eu", "region": "moon" }))).unwrap_err();
        assert_eq!(bad.problems.len(), 3, "{bad}");
        assert!(bad.problems[0].contains("did you mean `region`"), "{bad}");
        assert_eq!(bad.missing.len(), 1);
    }
}
