use serde_json::Value;

/// The maximum length of a path, in bytes.
const MAX_LENGTH: usize = 1000;
/// The maximum nesting depth of brackets.
const MAX_DEPTH: usize = 8;
/// The maximum number of `..` segments in a path: each multiplies the values it selects.
const MAX_DESCENTS: usize = 2;

/// A path into JSON (RFC 9535) whose search takes bounded time.
#[derive(Clone, Debug)]
pub struct BoundedJsonPath(serde_json_path::JsonPath);

/// An error for a text that is not such a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct JsonPathError {
    /// The reason why the text was rejected.
    pub reason: String,
}

impl BoundedJsonPath {
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        if let Some(reason) = excess(text) {
            return Err(JsonPathError { reason: reason.into() });
        }
        match serde_json_path::JsonPath::parse(text) {
            Ok(path) => Ok(Self(path)),
            Err(error) => {
                Err(JsonPathError { reason: format!("invalid JSON path `{text}`: {}", error.message()) })
            }
        }
    }

    /// The values it selects, in order.
    pub fn select<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.0.query(value).all()
    }

    /// Returns the locations of the selected values, in order, as JSON pointers (RFC 6901).
    pub fn pointers(&self, value: &Value) -> Vec<String> {
        let nodes = self.0.query_located(value);
        let places = nodes.locations();
        places.map(serde_json_path::NormalizedPath::to_json_pointer).collect()
    }
}

/// Formats the path in the standard's notation.
impl std::fmt::Display for BoundedJsonPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the reason if a path could take unbounded time to read or to evaluate.
fn excess(text: &str) -> Option<&'static str> {
    if !text.starts_with('$') {
        return Some("a JSON path must start with `$`");
    }
    if text.len() > MAX_LENGTH {
        return Some("a JSON path has at most 1,000 characters");
    }
    let (mut depth, mut deepest, mut roots, mut descents) = (0_usize, 0, 0, 0);
    let mut quote = None;
    let mut before = ' ';
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) => quote = (c != open || before == '\\').then_some(open),
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '!') => depth += 1,
            // `!` recurses in the parser, and `!=` does not.
            (None, ')' | ']' | '=') if c != '=' || before == '!' => {
                depth = depth.saturating_sub(1);
            }
            (None, '$') => roots += 1,
            (None, '.') if before == '.' => descents += 1,
            (None, _) => {}
        }
        deepest = deepest.max(depth);
        before = if before == '\\' { ' ' } else { c };
    }
    if deepest > MAX_DEPTH {
        Some("a JSON path nests at most 8 brackets")
    } else if roots > 1 {
        Some("a JSON path may contain `$` only once, at the start")
    } else if descents > MAX_DESCENTS {
        Some("a JSON path has at most two `..`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::BoundedJsonPath;
    use serde_json::json;

    #[test]
    fn paths_select() {
        let value = json!({ "a": [{ "b": 1 }, { "b": 2 }], "c.d": "x" });
        for (path, expected) in [
            ("$.a[*].b", vec![json!(1), json!(2)]),
            ("$..b", vec![json!(1), json!(2)]),
            ("$.a[?@.b > 1].b", vec![json!(2)]),
            ("$.a[?@.b != 1 && @.b != 3].b", vec![json!(2)]),
            ("$['c.d']", vec![json!("x")]),
            ("$.nothing", vec![]),
        ] {
            let selected = BoundedJsonPath::parse(path).unwrap().select(&value).into_iter().cloned();
            assert_eq!(selected.collect::<Vec<_>>(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_or_unbounded_is_refused() {
        for path in [
            "",
            "a.b",
            "$.",
            "$[?(",
            "$..a..b..c",
            "$[?count($[*]) > 1]",
            &format!("${}", "[?".repeat(400)),
            &format!("$[?{}@.a", "(".repeat(400)),
            &format!("$[?{}@.a]", "!".repeat(400)),
            &format!("$.{}", "a".repeat(1000)),
        ] {
            assert!(BoundedJsonPath::parse(path).is_err(), "{path}");
        }
    }
}
