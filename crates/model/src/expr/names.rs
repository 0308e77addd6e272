use super::{BlockField, ExprReference, StatusFunction, foreign::foreign_syntax_advice, node::PathKey};
use wf_base::{
    diag::{Code, nearest},
    keyword::Keyword,
};

/// The names a lookup can begin with.
const ROOTS: [&str; 9] =
    ["params", "steps", "secrets", "item", "item_key", "item_index", "matrix", "run", "block"];

/// A lookup with none of the forms of a [`ExprReference`].
pub(super) struct ReferenceError {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// Resolves a lookup into a name and the fields of its value that are looked up.
pub(super) fn resolve(
    root: &str,
    path_keys: Vec<PathKey>,
) -> Result<(ExprReference, Vec<PathKey>), ReferenceError> {
    let mut keys = path_keys.into_iter().peekable();
    let mut field = |form: &str| match keys.next() {
        Some(PathKey::Field(name)) => Ok(name),
        _ => Err(incomplete(root, form)),
    };
    let name = match root {
        "params" => ExprReference::Param(field("params.NAME")?),
        "secrets" => ExprReference::Secret(field("secrets.NAME")?),
        "matrix" => ExprReference::Matrix(field("matrix.AXIS")?),
        "run" => match field("run.id")?.as_str() {
            "id" => ExprReference::RunId,
            "dispatch" => ExprReference::RunDispatch,
            other => return Err(unknown(&format!("run.{other}"), other, &["id", "dispatch"])),
        },
        "block" => {
            let name = field("block.reason")?;
            let field_names = BlockField::ALL.iter().map(|field| field.as_str());
            let reference = BlockField::from_word(&name).map(ExprReference::Block);
            reference
                .ok_or_else(|| unknown(&format!("block.{name}"), &name, &field_names.collect::<Vec<_>>()))?
        }
        "steps" => {
            let forms = "steps.STEP.outputs.NAME or steps.STEP.status";
            let step = field(forms)?;
            match field(forms)?.as_str() {
                "outputs" => ExprReference::Output { step, output: field("steps.STEP.outputs.NAME")? },
                "status" => ExprReference::StepStatus(step),
                other => {
                    let name = format!("steps.{step}.{other}");
                    return Err(unknown(&name, other, &["outputs", "status"]));
                }
            }
        }
        "item" => ExprReference::Item,
        "item_key" => ExprReference::ItemKey,
        "item_index" => ExprReference::ItemIndex,
        _ => return Err(unknown_root(root)),
    };
    let path: Vec<PathKey> = keys.collect();
    let has_fields = matches!(
        name,
        ExprReference::Param(_)
            | ExprReference::Output { .. }
            | ExprReference::Item
            | ExprReference::Matrix(_)
    );
    if path.is_empty() || has_fields {
        Ok((name, path))
    } else {
        Err(ReferenceError {
            code: Code::ExpressionForm,
            message: format!("`{name}` has no fields"),
            help: None,
        })
    }
}

fn incomplete(root: &str, form: &str) -> ReferenceError {
    ReferenceError {
        code: Code::ExpressionForm,
        message: format!("`{root}` is incomplete"),
        help: Some(format!("write {form}")),
    }
}

fn unknown(name: &str, word: &str, names: &[&str]) -> ReferenceError {
    let help = match nearest(word, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid here: {}", names.join(" and ")),
    };
    ReferenceError { code: Code::UnknownName, message: format!("unknown name `{name}`"), help: Some(help) }
}

fn unknown_root(root: &str) -> ReferenceError {
    let function = StatusFunction::from_word(root);
    let help = match (root, function, nearest(root, ROOTS)) {
        _ if foreign_syntax_advice(root).is_some() => {
            foreign_syntax_advice(root).unwrap_or_default().to_owned()
        }
        ("null" | "nil", _, _) => "the null value is `none`".to_owned(),
        (_, Some(function), _) => format!("call it: `{function}()`"),
        (_, None, Some(near)) => format!("did you mean `{near}`?"),
        (_, None, None) => format!("quote a string: '{root}'; a name starts with {}", ROOTS.join(", ")),
    };
    ReferenceError { code: Code::UnknownName, message: format!("unknown name `{root}`"), help: Some(help) }
}
