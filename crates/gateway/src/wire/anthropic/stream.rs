use std::collections::BTreeMap;

use wf_core::agent::{ModelReply, ToolCall};
use wf_model::TokenUsage;

use super::decode::{AnthropicUsage, stop_reason};
use crate::{
    sse::SseEvent,
    wire::{
        ReplyStream, WireError,
        format::{ReplyDraft, ReplyField, parse_json},
    },
};

/// A streamed reply of Anthropic Messages.
#[derive(Debug, Default)]
pub struct AnthropicStream {
    /// The blocks by their index, the provider's.
    blocks: BTreeMap<u64, AnthropicBlock>,
    usage: AnthropicUsage,
    stop: Option<String>,
    is_done: bool,
    generated: usize,
}

/// A block of content that grows.
#[derive(Debug)]
enum AnthropicBlock {
    Text(String),
    /// A call, and its input if that came whole at the start.
    Tool(ToolCall, Option<String>),
    /// A block of a kind that does not matter here, such as thinking.
    Other,
}

impl ReplyStream for AnthropicStream {
    fn take(&mut self, event: &SseEvent) -> Result<(), WireError> {
        let json = parse_json(&event.data)?;
        let body = ReplyField::root(&json);
        match body.need_text("type")? {
            "message_start" => self.usage.update(&body.need("message")?.need("usage")?)?,
            "content_block_start" => {
                let index = body.need("index")?.count()?;
                self.blocks.insert(index, start_block(&body.need("content_block")?)?);
            }
            "content_block_delta" => {
                let index = body.need("index")?.count()?;
                self.grow(index, &body.need("delta")?)?;
            }
            "message_delta" => {
                if let Some(stop) = body.need("delta")?.get("stop_reason") {
                    self.stop = Some(stop.text()?.to_owned());
                }
                if let Some(usage) = body.get("usage") {
                    self.usage.update(&usage)?;
                }
            }
            "message_stop" => self.is_done = true,
            "error" => return Err(WireError::reported(&json)),
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn counted(&self) -> TokenUsage {
        self.usage.total()
    }

    fn generated(&self) -> usize {
        self.generated
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, WireError> {
        let stop = self.stop.ok_or(WireError::Cut)?;
        let mut draft = ReplyDraft { usage: self.usage.total(), ..ReplyDraft::default() };
        for block in self.blocks.into_values() {
            match block {
                AnthropicBlock::Text(text) => draft.text.push_str(&text),
                AnthropicBlock::Tool(mut call, whole) => {
                    if call.arguments.is_empty() {
                        call.arguments = whole.unwrap_or_else(|| "{}".into());
                    }
                    draft.tool_calls.push(call);
                }
                AnthropicBlock::Other => {}
            }
        }
        Ok(draft.finish(stop_reason(&stop)))
    }
}

impl AnthropicStream {
    fn grow(&mut self, index: u64, delta: &ReplyField<'_>) -> Result<(), WireError> {
        let kind = delta.need_text("type")?;
        let more = match kind {
            "text_delta" => delta.need_text("text")?,
            "input_json_delta" => delta.need_text("partial_json")?,
            "thinking_delta" => delta.text_or_empty("thinking")?,
            _ => "",
        };
        // Thinking is billed, too.
        self.generated += more.len();
        match (kind, self.blocks.get_mut(&index)) {
            ("text_delta", Some(AnthropicBlock::Text(text))) => text.push_str(more),
            ("input_json_delta", Some(AnthropicBlock::Tool(call, _))) => call.arguments.push_str(more),
            ("text_delta" | "input_json_delta", None) => {
                return Err(WireError::Missing { field: format!("content_block_start of block {index}") });
            }
            _ => {}
        }
        Ok(())
    }
}

fn start_block(block: &ReplyField<'_>) -> Result<AnthropicBlock, WireError> {
    Ok(match block.need_text("type")? {
        "text" => AnthropicBlock::Text(block.text_or_empty("text")?.to_owned()),
        "tool_use" => {
            let call = ToolCall {
                id: block.need_text("id")?.to_owned(),
                tool: block.need_text("name")?.to_owned(),
                arguments: String::new(),
            };
            // Compatible servers may send the whole input at once.
            let whole = block.get("input").map(|input| input.json().to_string());
            AnthropicBlock::Tool(call, whole)
        }
        _ => AnthropicBlock::Other,
    })
}
