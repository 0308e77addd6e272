use super::foreign::elsewhere;
use super::node::Key;
use super::{Ref, StatusTest};
use crate::diag::{Code, nearest};

/// The names that a lookup can begin with.
const ROOTS: [&str; 8] = [
    "params",
    "steps",
    "secrets",
    "item",
    "item_key",
    "item_index",
    "matrix",
    "run",
];

/// A lookup that has none of the forms of a [`Ref`].
pub(super) struct NoName {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Reads a lookup as a name and the fields of its value that are looked up.
pub(super) fn resolve(root: &str, keys: Vec<Key>) -> Result<(Ref, Vec<Key>), NoName> {
    let mut keys = keys.into_iter().peekable();
    let mut field = |form: &str| match keys.next() {
        Some(Key::Field(name)) => Ok(name),
        _ => Err(incomplete(root, form)),
    };
    let name = match root {
        "params" => Ref::Param(field("params.NAME")?),
        "secrets" => Ref::Secret(field("secrets.NAME")?),
        "matrix" => Ref::Matrix(field("matrix.AXIS")?),
        "run" => match field("run.id")?.as_str() {
            "id" => Ref::RunId,
            other => return Err(unknown(&format!("run.{other}"), other, &["id"])),
        },
        "steps" => {
            let forms = "steps.STEP.outputs.NAME or steps.STEP.status";
            let step = field(forms)?;
            match field(forms)?.as_str() {
                "outputs" => Ref::Output {
                    step,
                    output: field("steps.STEP.outputs.NAME")?,
                },
                "status" => Ref::StepStatus(step),
                other => {
                    let name = format!("steps.{step}.{other}");
                    return Err(unknown(&name, other, &["outputs", "status"]));
                }
            }
        }
        "item" => Ref::Item,
        "item_key" => Ref::ItemKey,
        "item_index" => Ref::ItemIndex,
        _ => return Err(no_root(root)),
    };
    let path: Vec<Key> = keys.collect();
    let has_fields = matches!(
        name,
        Ref::Param(_) | Ref::Output { .. } | Ref::Item | Ref::Matrix(_)
    );
    if path.is_empty() || has_fields {
        Ok((name, path))
    } else {
        Err(NoName {
            code: Code::ExpressionForm,
            message: format!("`{name}` is a single value without fields"),
            help: None,
        })
    }
}

fn incomplete(root: &str, form: &str) -> NoName {
    NoName {
        code: Code::ExpressionForm,
        message: format!("`{root}` alone is not a value"),
        help: Some(format!("write {form}")),
    }
}

fn unknown(name: &str, word: &str, known: &[&str]) -> NoName {
    let help = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there is only {}", known.join(" and ")),
    };
    NoName {
        code: Code::UnknownName,
        message: format!("there is no `{name}`"),
        help: Some(help),
    }
}

fn no_root(root: &str) -> NoName {
    let function = StatusTest::ALL.into_iter().find(|t| t.as_str() == root);
    let help = match (root, function, nearest(root, ROOTS)) {
        _ if elsewhere(root).is_some() => elsewhere(root).unwrap_or_default().to_owned(),
        ("null" | "nil", _, _) => "no value is written `none`".to_owned(),
        (_, Some(function), _) => format!("call it: `{function}()`"),
        (_, None, Some(near)) => format!("did you mean `{near}`?"),
        (_, None, None) => format!(
            "a text stands in quotes: '{root}'; a name begins with {}",
            ROOTS.join(", ")
        ),
    };
    NoName {
        code: Code::UnknownName,
        message: format!("there is no `{root}`"),
        help: Some(help),
    }
}
