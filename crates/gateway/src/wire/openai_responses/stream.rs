use serde_json::Value;
use wf_core::agent::ModelReply;
use wf_model::TokenUsage;

use super::decode::decode_parts;
use crate::{
    sse::SseEvent,
    wire::{
        ReplyStream, WireError,
        format::{ReplyField, parse_json},
    },
};

/// A streamed reply of OpenAI Responses.
#[derive(Debug, Default)]
pub struct ResponsesStream {
    /// The complete items of output. Some servers leave them out of the last event.
    items: Vec<Value>,
    reply: Option<ModelReply>,
    generated: usize,
}

impl ReplyStream for ResponsesStream {
    fn take(&mut self, event: &SseEvent) -> Result<(), WireError> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let json = parse_json(&event.data)?;
        let body = ReplyField::root(&json);
        match body.need_text("type")? {
            // Whatever grows by a delta is in the item that follows.
            kind if kind.strip_suffix(".delta").is_some() => {
                self.generated += body.get("delta").and_then(|delta| delta.text().ok()).map_or(0, str::len);
            }
            "response.output_item.done" => self.items.push(body.need("item")?.json().clone()),
            "response.completed" | "response.incomplete" => {
                let response = body.need("response")?;
                let own = response.items_or_none("output")?;
                let arrived = self.items.iter().map(ReplyField::root).collect();
                self.reply = Some(decode_parts(&response, if own.is_empty() { arrived } else { own })?);
            }
            "response.failed" => return Err(WireError::reported(body.need("response")?.json())),
            "error" => return Err(WireError::reported(&json)),
            _ => {}
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.reply.is_some()
    }

    fn counted(&self) -> TokenUsage {
        TokenUsage::default()
    }

    fn generated(&self) -> usize {
        self.generated
    }

    fn finish(self: Box<Self>) -> Result<ModelReply, WireError> {
        self.reply.ok_or(WireError::Cut)
    }
}
