use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::Value;

use super::entry::usage;
use crate::approval::Bound;
use crate::cli::params::{self, ParamArgs};
use crate::cli::{Failure, Ui};
use crate::model::{Given, Object, Param, Parts, Schema};

/// Which parameters are approved.
#[derive(Args, Clone, Debug, Default)]
pub struct BoundArgs {
    #[command(flatten)]
    params: ParamArgs,
    /// Approve every value of this parameter that the plan lets pass
    #[arg(long, value_name = "NAME")]
    any: Vec<String>,
    /// Approve every value of this parameter that a JSON Schema lets pass
    #[arg(long, value_name = "NAME=SCHEMA")]
    within: Vec<String>,
}

/// What each parameter may be, and the values that are known.
pub(super) struct Bounds {
    pub(super) bounds: BTreeMap<String, Bound>,
    pub(super) given: Object,
}

/// Reads what is to be approved of the parameters of a plan.
pub(super) fn bounds(
    ui: &Ui,
    (parts, is_goal): (&Parts, bool),
    args: &BoundArgs,
) -> Result<Bounds, Failure> {
    let mut open: BTreeMap<String, Bound> = BTreeMap::new();
    for name in &args.any {
        let param = declared(&parts.params, name)?;
        open.insert(name.clone(), Bound::Within(param.schema.text().clone()));
    }
    for text in &args.within {
        let Some((name, schema)) = text.split_once('=') else {
            return Err(usage(format!("--within {text}: write it as NAME=SCHEMA")));
        };
        declared(&parts.params, name)?;
        let read = serde_json::from_str::<Value>(schema).map_err(|error| error.to_string());
        let sound = read.and_then(|schema| {
            let made = Schema::new(schema.clone()).map_err(|bad| bad.to_string());
            made.map(|_| schema)
        });
        let schema = sound.map_err(|why| {
            usage(format!("--within {name}: this is no JSON Schema: {why}")).hint(format!(
                "for example: --within '{name}={{\"enum\": [\"a\", \"b\"]}}'"
            ))
        })?;
        open.insert(name.to_owned(), Bound::Within(schema));
    }
    if is_goal {
        // What a cycle gives is known only then.
        for given in Given::ALL {
            let param = declared(&parts.params, given.as_str())?;
            let any = Bound::Within(param.schema.text().clone());
            open.insert(given.as_str().to_owned(), any);
        }
    }
    let names: BTreeSet<&str> = open.keys().map(String::as_str).collect();
    let exact = parts.params.iter();
    let exact = exact.filter(|param| !names.contains(param.name.as_str()));
    let exact: Vec<Param> = exact.cloned().collect();
    let given = params::some(ui, &exact, &args.params)?;
    let mut bounds = open;
    bounds.extend(
        given
            .iter()
            .map(|(name, value)| (name.clone(), Bound::Is(value.clone()))),
    );
    Ok(Bounds { bounds, given })
}

fn declared<'a>(params: &'a [Param], name: &str) -> Result<&'a Param, Failure> {
    let found = params.iter().find(|param| param.name.as_str() == name);
    found.ok_or_else(|| usage(format!("there is no parameter `{name}`")))
}

/// What is approved of a parameter, in a line.
pub(super) fn line(name: &str, bound: &Bound) -> String {
    match bound {
        Bound::Is(value) => format!("  {name} = {value}\n"),
        Bound::Within(schema) => format!("  {name}: any value within {schema}\n"),
    }
}
