use serde_json::Value;

/// The longest path, in bytes.
const MAX_LENGTH: usize = 1000;
/// How deeply brackets may nest.
const MAX_DEPTH: usize = 8;
/// How often a path may descend to any depth: each time multiplies what it selects.
const MAX_DESCENTS: usize = 2;

/// A path into JSON (RFC 9535) whose search takes bounded time.
#[derive(Clone, Debug)]
pub struct JsonPath(serde_json_path::JsonPath);

/// A text is not such a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadJsonPath {
    /// What is wrong with it.
    pub reason: String,
}

impl JsonPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, BadJsonPath> {
        if let Some(reason) = excess(text) {
            return Err(BadJsonPath {
                reason: reason.into(),
            });
        }
        match serde_json_path::JsonPath::parse(text) {
            Ok(path) => Ok(Self(path)),
            Err(error) => Err(BadJsonPath {
                reason: format!("`{text}` is no JSON path: {}", error.message()),
            }),
        }
    }

    /// The values it selects, in order.
    pub fn select<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        self.0.query(value).all()
    }

    /// Where the values are that it selects, in order: JSON pointers (RFC 6901).
    pub fn pointers(&self, value: &Value) -> Vec<String> {
        let found = self.0.query_located(value);
        let places = found.locations();
        places
            .map(serde_json_path::NormalizedPath::to_json_pointer)
            .collect()
    }
}

/// Writes the path as the standard would.
impl std::fmt::Display for JsonPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a path could take unbounded time to read or to follow.
fn excess(text: &str) -> Option<&'static str> {
    if !text.starts_with('$') {
        return Some("a JSON path begins with `$`");
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
            // `!` descends in the parser, and `!=` does not.
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
        Some("a JSON path names `$` once, at its beginning")
    } else if descents > MAX_DESCENTS {
        Some("a JSON path has at most two `..`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::JsonPath;
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
            let selected = JsonPath::parse(path)
                .unwrap()
                .select(&value)
                .into_iter()
                .cloned();
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
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
    }
}
