use serde::{Deserialize, Serialize};
use wf_model::{AgentTool, JsonObject};

use crate::{
    agent::{Question, SkillRequest},
    memory::{MemoryQuery, NoteDraft},
};

/// A valid call of a tool of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentRequest {
    /// One a process in the sandbox of the step carries out by itself.
    Sandbox(ToolRequest),
    /// One running a script of a skill.
    Skill(SkillRequest),
    /// One a person answers.
    Ask(Question),
    /// One searching memory.
    Memory(MemoryQuery),
    /// One that adds a note to memory.
    Remember(NoteDraft),
    /// One that fetches the page of an address.
    Fetch(String),
    /// One starting a plan as a child run.
    Dispatch(DispatchRequest),
    /// One that returns the results of child runs: the id of one, `ready` or `all`.
    Collect(String),
}

/// A plan a model starts as a child run, as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchRequest {
    /// The id the model gives it.
    pub id: String,
    /// The id of the plan.
    pub plan: String,
    /// The parameters of the plan.
    pub params: JsonObject,
    /// The ids of the child runs that must have succeeded first.
    pub depends_on: Vec<String>,
}

/// A valid call of a tool. Paths are as the model wrote them: only the process carrying the request out can
/// tell where they lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", rename_all = "snake_case")]
pub enum ToolRequest {
    /// Reads lines of a text file.
    Read {
        /// The file.
        path: String,
        /// The first line, counted from 1; `None`: the first of the file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// The maximum number of lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// Lists a folder.
    List {
        /// The folder; `None`: the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// Searches files for a regular expression.
    Search {
        /// The regular expression, applied to each line.
        pattern: String,
        /// The file or folder to search; `None`: the workspace.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The glob of the files to search; `None`: all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        glob: Option<String>,
    },
    /// Writes a whole file.
    Write {
        /// The file.
        path: String,
        /// Its new content.
        text: String,
    },
    /// Replaces a text in a file.
    Edit {
        /// The file.
        path: String,
        /// The text, which occurs exactly once.
        old: String,
        /// The text in its place.
        new: String,
    },
    /// Runs a shell script.
    Run {
        script: String,
        /// The timeout in seconds; `None`: the default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_seconds: Option<u64>,
    },
}

impl ToolRequest {
    pub const fn tool(&self) -> AgentTool {
        match self {
            Self::Read { .. } => AgentTool::Read,
            Self::List { .. } => AgentTool::List,
            Self::Search { .. } => AgentTool::Search,
            Self::Write { .. } => AgentTool::Write,
            Self::Edit { .. } => AgentTool::Edit,
            Self::Run { .. } => AgentTool::Run,
        }
    }
}
