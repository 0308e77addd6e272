use serde_json::{Value, json};

use super::ClientCommand;
use wf_model::AgentEngine;

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
