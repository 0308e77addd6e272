use serde_json::Value;

/// Returns the text of an answer of a tool for a model, and true if the call failed. What is no text is named.
pub fn read_mcp_answer(result: &Value) -> (String, bool) {
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<String> = blocks.iter().map(block_text).collect();
    let structure = result.get("structuredContent").filter(|_| texts.is_empty());
    let text = match (structure, result.get("resultType").and_then(Value::as_str)) {
        (_, Some(kind)) if kind != "complete" => {
            return (format!("the tool asks for something (`{kind}`) that an agent cannot give"), true);
        }
        (Some(structure), _) => structure.to_string(),
        (None, _) => texts.join("\n"),
    };
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    if text.is_empty() { ("[no output]".to_owned(), is_error) } else { (text, is_error) }
}

fn block_text(block: &Value) -> String {
    let word = |path: &str| block.pointer(path).and_then(Value::as_str);
    match word("/type") {
        Some("text") => word("/text").unwrap_or_default().to_owned(),
        Some("resource") if let Some(text) = word("/resource/text") => text.to_owned(),
        Some(kind) => {
            let name = word("/uri").or(word("/resource/uri")).or(word("/mimeType")).unwrap_or("unnamed");
            format!("[{kind} {name}: not shown]")
        }
        None => "[something of no type: not shown]".to_owned(),
    }
}
