use serde_json::Value;

use super::{Object, Schema, Taint};
use crate::diag::nearest;
use crate::name::Name;

/// A typed input of a plan.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// What it must satisfy.
    pub schema: Schema,
    /// The value when none is given; `None`: one must be given.
    pub default: Option<Value>,
    /// How far who gives it is trusted.
    pub taint: Taint,
    /// A line for people.
    pub description: Option<String>,
}

/// Why given values are not the parameters of a plan. Everything wrong is told at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("\n"))]
pub struct BadParams {
    /// One sentence each.
    pub problems: Vec<String>,
    /// The parameters that have neither value nor default.
    pub missing: Vec<Name>,
}

/// Completes given values with defaults and checks them all.
pub fn resolve(params: &[Param], given: &Object) -> Result<Object, BadParams> {
    let mut bad = BadParams {
        problems: Vec::new(),
        missing: Vec::new(),
    };
    let mut resolved = Object::new();
    for name in given.keys() {
        if params.iter().all(|param| param.name.as_str() != name) {
            let known = nearest(name, params.iter().map(|param| param.name.as_str()));
            let meant = known
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            bad.problems
                .push(format!("there is no parameter `{name}`{meant}"));
        }
    }
    for param in params {
        let Some(value) = given.get(param.name.as_str()).or(param.default.as_ref()) else {
            bad.problems.push(format!(
                "parameter `{0}` is required: give it with -p {0}=…",
                param.name
            ));
            bad.missing.push(param.name.clone());
            continue;
        };
        match param.schema.mistake(value) {
            Some(mistake) => bad
                .problems
                .push(format!("parameter `{}`: {mistake}", param.name)),
            None => drop(resolved.insert(param.name.to_string(), value.clone())),
        }
    }
    if bad.problems.is_empty() {
        Ok(resolved)
    } else {
        Err(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::{Param, resolve};
    use crate::model::{Object, Schema};
    use crate::name::Name;
    use serde_json::json;

    fn params() -> Vec<Param> {
        let param = |name: &str, schema, default| Param {
            name: Name::parse(name).unwrap(),
            schema: Schema::new(schema).unwrap(),
            default,
            taint: crate::model::Taint::Owner,
            description: None,
        };
        vec![
            param("day", json!({ "type": "string" }), None),
            param("region", json!({ "enum": ["eu", "us"] }), Some(json!("eu"))),
        ]
    }

    fn object(value: &serde_json::Value) -> Object {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn defaults_complete_what_is_given() {
        let resolved = resolve(&params(), &object(&json!({ "day": "mon" }))).unwrap();
        assert_eq!(resolved, object(&json!({ "day": "mon", "region": "eu" })));
    }

    #[test]
    fn every_problem_is_told() {
        let bad = resolve(
            &params(),
            &object(&json!({ "regoin": "eu", "region": "moon" })),
        )
        .unwrap_err();
        assert_eq!(bad.problems.len(), 3, "{bad}");
        assert!(bad.problems[0].contains("did you mean `region`"), "{bad}");
        assert_eq!(bad.missing.len(), 1);
    }
}
