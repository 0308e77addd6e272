use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::check::{FileDiagnostics, RuleContext};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_model::expr::{Expr, ExprReference};

/// The words for the final state of a step.
const FINAL: [&str; 4] = ["succeeded", "failed", "skipped", "cancelled"];

/// Checks that a `when` can be true, and no step waits for one with a false `when`.
pub(crate) fn check_never(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let enums = enums(context);
    let domain = |reference: &ExprReference| match reference {
        ExprReference::Param(name) => enums.get(name.as_str()).cloned(),
        ExprReference::StepStatus(_) => Some(FINAL.map(Value::from).to_vec()),
        _ => None,
    };
    let mut never: BTreeMap<usize, Span> = BTreeMap::new();
    for (at, step) in context.steps.iter().enumerate() {
        if let Some(when) = &step.when
            && when.never_true(&domain)
        {
            never.insert(at, when.span);
            diagnostics.note(never_true(when, &enums, context));
        }
    }
    unreachable(context, &never, diagnostics);
}

/// Returns the values of parameters with few values.
fn enums<'a>(context: &RuleContext<'a>) -> BTreeMap<&'a str, Vec<Value>> {
    let few = |schema: &Value| {
        if let Some(Value::Array(values)) = schema.get("enum") {
            return Some(values.clone());
        }
        let is_boolean = schema.get("type") == Some(&json!("boolean"));
        is_boolean.then(|| vec![json!(true), json!(false)])
    };
    let params = context.plan.params.iter();
    params.filter_map(|(name, param)| Some((name.value.as_str(), few(param.schema.text())?))).collect()
}

fn never_true(
    when: &Spanned<Expr>,
    enums: &BTreeMap<&str, Vec<Value>>,
    context: &RuleContext<'_>,
) -> Diagnostic {
    let mistake = Diagnostic::new(Code::NeverTrue, when.span, "this is never true");
    let choice = when.refs().iter().find_map(|read| match &read.name {
        ExprReference::Param(name) => enums.get_key_value(name.as_str()),
        _ => None,
    });
    let asks_state = when.refs().iter().any(|read| matches!(read.name, ExprReference::StepStatus(_)));
    if let Some((name, values)) = choice {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        let declared = context.plan.params.iter().find(|(param, _)| param.value.as_str() == *name);
        let span = declared.map_or(when.span, |(param, _)| param.span);
        mistake.with_related(span, format!("the values of `{name}` are {}", values.join(", ")))
    } else if asks_state {
        mistake.with_help(format!("the status of a step is one of {}", FINAL.join(", ")))
    } else {
        mistake.with_help("remove the step, or fix its `when`")
    }
}

/// Notes steps that are always skipped since a dependency is, unless their `when` reads the state
/// of steps.
fn unreachable(context: &RuleContext<'_>, never: &BTreeMap<usize, Span>, diagnostics: &mut FileDiagnostics) {
    let mut cut: BTreeMap<usize, usize> = BTreeMap::new();
    for at in context.graph.order() {
        let step = context.step(at);
        if never.contains_key(&at) || step.when.as_ref().is_some_and(|when| when.asks_status()) {
            continue;
        }
        let cause = context.graph.needs(at).iter().find_map(|needed| {
            let own = never.contains_key(needed).then_some(*needed);
            own.or_else(|| cut.get(needed).copied())
        });
        if let Some(cause) = cause {
            cut.insert(at, cause);
        }
    }
    for (at, cause) in cut {
        let (step, cause_id) = (context.step(at), context.id(cause));
        let message = format!("step `{}` can never run", step.id.value);
        let mut mistake = Diagnostic::new(Code::Unreachable, step.id.span, message)
            .with_help(format!("it depends on `{cause_id}`, which never runs"));
        if let Some(span) = never.get(&cause) {
            mistake = mistake.with_related(*span, "this is never true");
        }
        diagnostics.note(mistake);
    }
}
