use serde_json::Value;

use wf_base::exact_json;
use wf_model::AgentEngine;

/// The most text of a program's output its log shows, in bytes.
const SHOWN_BYTES: usize = 64 * 1024;

/// The output of a program working as an agent, as far as it matters.
#[derive(Clone, Debug)]
pub struct ClientOutput {
    engine: AgentEngine,
    answer: Option<String>,
    error: Option<String>,
    shown: Vec<String>,
    shown_bytes: usize,
}

/// The answer of a program working as an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientAnswer {
    Text(String),
    /// It reported an error.
    Error(String),
    /// It said neither.
    Nothing,
}

impl ClientOutput {
    /// Creates the output of a program that has not printed anything.
    pub fn new(engine: AgentEngine) -> Self {
        Self { engine, answer: None, error: None, shown: Vec::new(), shown_bytes: 0 }
    }

    /// Takes a line of its standard output.
    pub fn take(&mut self, line: &str) {
        let message: Value = match exact_json::read(line) {
            Ok(message @ Value::Object(_)) => message,
            _ => return self.show(line),
        };
        match self.engine {
            AgentEngine::Builtin => {}
            AgentEngine::ClaudeCode => self.take_claude_code(&message),
            AgentEngine::Codex => self.take_codex(&message),
            AgentEngine::Command => self.take_own(&message, line),
        }
    }

    /// Returns the lines that are no messages, for its log.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    pub fn answer(&self) -> ClientAnswer {
        match (&self.error, &self.answer) {
            (Some(error), _) => ClientAnswer::Error(error.clone()),
            (None, Some(answer)) => ClientAnswer::Text(answer.clone()),
            (None, None) => ClientAnswer::Nothing,
        }
    }

    fn take_claude_code(&mut self, message: &Value) {
        if message["type"] != "result" {
            return;
        }
        let text = text_of(&message["result"]);
        if message["is_error"] == true {
            self.error = Some(if text.is_empty() { text_of(&message["subtype"]) } else { text });
        } else {
            let outputs = message.get("structured_output").filter(|outputs| !outputs.is_null());
            self.answer = Some(outputs.map_or(text, Value::to_string));
        }
    }

    fn take_codex(&mut self, message: &Value) {
        let item = &message["item"];
        match message["type"].as_str() {
            Some("item.completed") if item["type"] == "agent_message" => {
                self.answer = Some(text_of(&item["text"]));
            }
            Some("turn.failed") => self.error = Some(text_of(&message["error"]["message"])),
            _ => {}
        }
    }

    fn take_own(&mut self, message: &Value, line: &str) {
        match message["type"].as_str() {
            Some("answer") => {
                let outputs = message.get("outputs").filter(|outputs| !outputs.is_null());
                self.answer = Some(outputs.map_or_else(|| text_of(&message["text"]), Value::to_string));
            }
            Some("error") => self.error = Some(text_of(&message["message"])),
            Some("log") => self.show(&text_of(&message["text"])),
            _ => self.show(line),
        }
    }

    fn show(&mut self, line: &str) {
        self.shown_bytes = self.shown_bytes.saturating_add(line.len());
        if self.shown_bytes <= SHOWN_BYTES && !line.trim().is_empty() {
            self.shown.push(line.to_owned());
        }
    }
}

/// Returns a text; another value as JSON.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
