//! The log of an agent's attempt, as people read it.

use wf_core::agent::{ModelReply, ToolCall, ToolResult};
use wf_exec::log::{LogStream, LogWriter};

/// The number of characters of a tool's arguments and result the log of an attempt shows.
const SHOWN: usize = 200;

/// The log of an agent's attempt, as people read it: the words of the model, its tool calls and their results.
pub(super) struct AgentLog(LogWriter);

impl AgentLog {
    pub(super) fn new(writer: LogWriter) -> Self {
        Self(writer)
    }

    /// Writes the text of a reply.
    pub(super) fn reply(&mut self, reply: &ModelReply) {
        if !reply.text.trim().is_empty() {
            self.line(LogStream::Out, reply.text.trim());
        }
    }

    /// Writes a tool call and its result.
    pub(super) fn tool(&mut self, call: &ToolCall, result: &ToolResult) {
        let mark = if result.is_error { "failed" } else { "ok" };
        self.line(LogStream::Out, &format!("[{} {}] {mark}", call.tool, brief(&call.arguments)));
        if !result.text.trim().is_empty() {
            self.line(LogStream::Out, &format!("  {}", brief(result.text.trim())));
        }
    }

    /// Writes a note of the engine.
    pub(super) fn write_note(&mut self, text: &str) {
        self.line(LogStream::Err, text);
    }

    /// Writes the rest to the disk.
    pub(super) fn finish(self) {
        drop(self.0.finish());
    }

    fn line(&mut self, stream: LogStream, text: &str) {
        self.0.write(stream, format!("{text}\n").as_bytes());
    }
}

/// Returns the beginning of a text in one line.
fn brief(text: &str) -> String {
    let line: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() { format!("{line}…") } else { line }
}
