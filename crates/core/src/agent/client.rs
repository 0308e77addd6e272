//! Programs working as agents: how they are started, and what their output says.
//!
//! Pure: a [`ClientLaunch`] becomes a [`ClientCommand`], and lines of output become a [`ClientAnswer`]. A program gets
//! the address of the gateway and a token of its attempt, and no key.

use serde_json::{Value, json};

use crate::agent::{cut_result, repair_text};
use wf_base::exact_json;
use wf_model::AgentEngine;

#[cfg(test)]
mod tests;

/// The command of a program working as an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The environment.
    pub env: Vec<(String, String)>,
    /// The text on its standard input, which ends after it.
    pub input: String,
}

impl ClientCommand {
    /// Appends arguments.
    fn add_words(&mut self, words: &[&str]) {
        self.argv.extend(words.iter().map(|word| (*word).to_owned()));
    }

    /// Sets a variable.
    fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }
}

/// The features of Codex needing a network, or more than one agent.
const CODEX_FEATURES: [&str; 4] = ["multi_agent", "goals", "plugins", "apps"];

/// The variables naming another way to a model: a program gets none of them from its step.
const FOREIGN_VARIABLES: [&str; 4] = ["ANTHROPIC_", "CLAUDE_", "OPENAI_", "CODEX_"];

/// A script starting Codex with a folder of its own, which is temporary and need not be a part of a home.
const WITH_FOLDER: &str = "CODEX_HOME=$(mktemp -d) && export CODEX_HOME && exec \"$@\"";

/// The same, with the schema of the answer in that folder.
const WITH_SCHEMA: &str = "CODEX_HOME=$(mktemp -d) && export CODEX_HOME && \
    printf %s \"$WF_ANSWER_SCHEMA\" >\"$CODEX_HOME/answer.json\" && \
    exec \"$@\" --output-schema \"$CODEX_HOME/answer.json\"";

/// A program that is to work as an agent.
#[derive(Clone, Debug)]
pub struct ClientLaunch<'a> {
    /// The program.
    pub engine: AgentEngine,
    /// The command of a program of the plan's author.
    pub command: &'a [String],
    /// The name of the model, by which the gateway knows it.
    pub model: &'a str,
    /// The address of the gateway, without a path.
    pub address: &'a str,
    /// The token of the attempt.
    pub token: &'a str,
    /// The instructions.
    pub prompt: &'a str,
    /// The JSON Schema of the answer; `None`: free text.
    pub answer_schema: Option<&'a Value>,
    /// The mistake in its answer, if it is begun again to repair that.
    pub repairs: Option<&'a str>,
}

impl ClientLaunch<'_> {
    /// Returns the command starting it, in an environment.
    pub fn command(&self, env: Vec<(String, String)>) -> ClientCommand {
        let is_foreign = |name: &str| FOREIGN_VARIABLES.iter().any(|prefix| name.starts_with(prefix));
        let mut command = ClientCommand {
            argv: Vec::new(),
            env: env.into_iter().filter(|(name, _)| !is_foreign(name)).collect(),
            input: self.prompt.to_owned(),
        };
        match self.engine {
            AgentEngine::Builtin => {}
            AgentEngine::ClaudeCode => self.claude_code(&mut command),
            AgentEngine::Codex => self.codex(&mut command),
            AgentEngine::Command => self.own(&mut command),
        }
        command
    }

    /// Returns the name of its program.
    pub fn program(&self) -> Option<&str> {
        match self.engine {
            AgentEngine::Builtin => None,
            AgentEngine::ClaudeCode => Some("claude"),
            AgentEngine::Codex => Some("codex"),
            AgentEngine::Command => self.command.first().map(String::as_str),
        }
    }

    fn claude_code(&self, command: &mut ClientCommand) {
        command.add_words(&["claude", "--bare", "-p", "--output-format", "stream-json", "--verbose"]);
        command.add_words(&[
            "--no-session-persistence",
            "--permission-mode",
            "dontAsk",
            "--model",
            self.model,
        ]);
        if let Some(schema) = self.answer_schema {
            command.add_words(&["--json-schema", &schema.to_string()]);
        }
        command.add_words(&["--allowedTools"]);
        // It does not ask: it runs in a sandbox.
        command.add_words(self.engine.client_tools().unwrap_or_default());
        command.set("ANTHROPIC_BASE_URL", self.address);
        command.set("ANTHROPIC_API_KEY", self.token);
        command.set("ANTHROPIC_SMALL_FAST_MODEL", self.model);
        // The home folder may be a part of the workspace.
        command.set("CLAUDE_CONFIG_DIR", "/tmp/wf-claude-code");
        command.set("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command.set("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1");
        command.set("DISABLE_AUTOUPDATER", "1");
    }

    fn codex(&self, command: &mut ClientCommand) {
        let script = if self.answer_schema.is_some() { WITH_SCHEMA } else { WITH_FOLDER };
        command.add_words(&["sh", "-c", script, "sh"]);
        command.add_words(&["codex", "exec", "--json", "--ephemeral", "--ignore-user-config"]);
        // The sandbox of the step is around it.
        command.add_words(&["--skip-git-repo-check", "-s", "danger-full-access", "-m", self.model]);
        // A call that failed was repeated by the gateway.
        let provider = format!(
            "model_providers.wf={{name=\"wf\",base_url=\"{}/v1\",env_key=\"WF_MODEL_TOKEN\",wire_api=\"responses\",\
             request_max_retries=0,stream_max_retries=0}}",
            self.address
        );
        let settings = ["model_provider=wf", &provider, "analytics.enabled=false", "web_search=disabled"];
        for setting in settings.into_iter().chain(["shell_environment_policy.exclude=[\"WF_MODEL_TOKEN\"]"]) {
            command.add_words(&["-c", setting]);
        }
        for feature in CODEX_FEATURES {
            command.add_words(&["--disable", feature]);
        }
        command.set("WF_MODEL_TOKEN", self.token);
        if let Some(schema) = self.answer_schema {
            command.set("WF_ANSWER_SCHEMA", &schema.to_string());
        }
    }

    fn own(&self, command: &mut ClientCommand) {
        command.argv.extend_from_slice(self.command);
        command.set("WF_MODEL", self.model);
        command.set("WF_MODEL_URL", self.address);
        command.set("WF_MODEL_TOKEN", self.token);
        let mut input = json!({"type": "briefing", "text": self.prompt});
        if let Some(schema) = self.answer_schema {
            input["answer_schema"] = schema.clone();
        }
        if let Some(mistake) = self.repairs {
            input["repairs"] = json!(mistake);
        }
        command.input = format!("{input}\n");
    }
}

/// Returns the instructions of a program begun again, since its answer did not fit.
pub fn repair_prompt(prompt: &str, answer: Option<&str>, mistake: &str) -> String {
    let said = match answer {
        Some(answer) => format!("and your answer was:\n\n{}", cut_result(answer)),
        None => "and you gave no answer.".to_owned(),
    };
    format!(
        "{prompt}\n\nYou have already worked on this, what you did is there, {said}\n\n{}\n\nRepair the answer.",
        repair_text(mistake)
    )
}

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
