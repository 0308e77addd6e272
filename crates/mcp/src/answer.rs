use serde_json::{Map, Value, json};

/// The maximum size of a text, in bytes. Of more, the end is kept.
const MAX_TEXT: usize = 64 * 1024;

/// The answer of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct McpAnswer {
    /// A remark for the model.
    note: Option<String>,
    text: String,
    /// The same with its structure, if it has one.
    structure: Option<Value>,
    is_error: bool,
}

impl McpAnswer {
    pub(crate) fn document(document: Value) -> Self {
        Self { text: document.to_string(), structure: Some(document), ..Self::default() }
    }

    pub(crate) fn from_text(text: &str) -> Self {
        let shown = if text.is_empty() { "(nothing)\n" } else { text };
        Self { text: end_of(shown), ..Self::default() }
    }

    /// An error, with its reason and remedy.
    pub(crate) fn error(text: &str) -> Self {
        Self { text: end_of(text), is_error: true, ..Self::default() }
    }

    /// Adds a remark.
    pub(crate) fn with_note(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }

    /// Returns the result of the call.
    pub(crate) fn result(self) -> Map<String, Value> {
        let texts = self.note.into_iter().chain([self.text]);
        let content: Vec<Value> = texts.map(|text| json!({"type": "text", "text": text})).collect();
        let mut result = Map::new();
        result.insert("content".into(), content.into());
        result.extend(self.structure.map(|structure| ("structuredContent".to_owned(), structure)));
        result.insert("isError".into(), self.is_error.into());
        result
    }
}

/// Returns the end of a long text.
fn end_of(text: &str) -> String {
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT));
    match text.get(from..) {
        Some(end) if from > 0 => format!("[… {from} bytes cut …]\n{end}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_TEXT, McpAnswer};

    #[test]
    fn a_document_is_given_as_a_text_and_with_its_structure() {
        let result = McpAnswer::document(json!({"v": 1})).with_note(Some("see".into())).result();
        assert_eq!(result["content"][0]["text"], "see");
        assert_eq!(result["content"][1]["text"], r#"{"v":1}"#);
        assert_eq!(result["structuredContent"], json!({"v": 1}));
        assert_eq!(result["isError"], false);
        let error = McpAnswer::error("error: no").result();
        assert_eq!((error.get("structuredContent"), &error["isError"]), (None, &json!(true)));
    }

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let text = format!("{}end", "ü".repeat(MAX_TEXT));
        let result = McpAnswer::from_text(&text).result();
        let shown = result["content"][0]["text"].as_str().unwrap();
        assert!(shown.starts_with("[… 65540 bytes cut …]\nü") && shown.ends_with("end"), "{}", &shown[..40]);
    }
}
