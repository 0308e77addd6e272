use super::RequestError;
use super::field::RequestField;

/// Returns the texts of a content: that of a plain text, or those of its blocks. Thinking is left out.
pub(super) fn texts(content: &RequestField<'_>) -> Result<Vec<String>, RequestError> {
    if let Ok(text) = content.text() {
        return Ok(vec![text.to_owned()]);
    }
    let read = |block: &RequestField<'_>| block_text(block).transpose();
    content.items()?.iter().filter_map(read).collect()
}

/// Returns the text of a block; `None` if it is thinking.
pub(super) fn block_text(block: &RequestField<'_>) -> Result<Option<String>, RequestError> {
    let text = match block.need_text("type")? {
        "text" | "input_text" | "output_text" => block.need_text("text")?,
        "refusal" => block.need_text("refusal")?,
        "thinking" | "redacted_thinking" => return Ok(None),
        "image" | "image_url" | "input_image" => return Err(unlike_text(block, "an image")),
        "input_audio" => return Err(unlike_text(block, "a sound")),
        "document" | "file" | "input_file" => return Err(unlike_text(block, "a document")),
        other => return Err(unlike_text(block, &format!("the type {other:?}"))),
    };
    Ok(Some(text.to_owned()))
}

fn unlike_text(block: &RequestField<'_>, content: &str) -> RequestError {
    block.unsupported(content, "send text")
}
