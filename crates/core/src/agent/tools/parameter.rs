use serde_json::{Map, Value, json};
use wf_model::AgentTool;

use crate::{agent::ToolDefinition, memory::MAX_FOUND};

/// The longest time a model may ask for, in seconds: a day. The time left of the attempt bounds it, too.
const MAX_TIMEOUT_SECONDS: u64 = 86_400;

/// A parameter of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolParameter {
    pub(super) name: &'static str,
    pub(super) kind: ParameterKind,
    pub(super) required: bool,
    /// The explanation for the model.
    about: &'static str,
}

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterKind {
    /// A text that may be empty, such as the content of a file.
    Text,
    /// A text that is not empty.
    FilledText,
    /// A whole number from 1 to a maximum.
    Count(u64),
    /// An object, whose values another schema describes.
    Object,
    /// A list of texts that are not empty.
    Texts,
}

const PATH: ToolParameter = ToolParameter {
    name: "path",
    kind: ParameterKind::FilledText,
    required: true,
    about: "The path of the file, relative to the root of the workspace.",
};

const READ: &[ToolParameter] = &[
    PATH,
    ToolParameter {
        name: "offset",
        kind: ParameterKind::Count(u64::MAX),
        required: false,
        about: "The number of the first line to read, counted from 1. Default: 1.",
    },
    ToolParameter {
        name: "limit",
        kind: ParameterKind::Count(u64::MAX),
        required: false,
        about: "The maximum number of lines to read. Default: as many as fit.",
    },
];

const LIST: &[ToolParameter] = &[ToolParameter {
    required: false,
    about: "The path of the folder, relative to the root of the workspace. Default: the root.",
    ..PATH
}];

const SEARCH: &[ToolParameter] = &[
    ToolParameter {
        name: "pattern",
        about: "The regular expression, in the syntax of Rust's `regex`: no look-around, no \
            back-references. It is applied to each line.",
        ..PATH
    },
    ToolParameter {
        required: false,
        about: "The path of a file or folder to search. Default: the root of the workspace.",
        ..PATH
    },
    ToolParameter {
        name: "glob",
        required: false,
        about: "A glob of the files to search. With a slash it is compared with the path, `src/**/*.rs`, \
            else with the file name, `*.rs`.",
        ..PATH
    },
];

const WRITE: &[ToolParameter] = &[
    PATH,
    ToolParameter {
        name: "text",
        kind: ParameterKind::Text,
        required: true,
        about: "The whole content of the file.",
    },
];

const EDIT: &[ToolParameter] = &[
    PATH,
    ToolParameter {
        name: "old",
        about: "The text to replace, exactly as it is in the file. It must occur exactly once: include \
            lines around it if needed.",
        ..PATH
    },
    ToolParameter {
        name: "new",
        kind: ParameterKind::Text,
        required: true,
        about: "The text in its place; empty to delete it.",
    },
];

const RUN: &[ToolParameter] = &[
    ToolParameter {
        name: "script",
        about: "The script for `sh -c`. It starts in the folder of the step.",
        ..PATH
    },
    ToolParameter {
        name: "timeout_seconds",
        kind: ParameterKind::Count(MAX_TIMEOUT_SECONDS),
        required: false,
        about: "The time in seconds after which the script is ended. Default: 120.",
    },
];

const DISPATCH: &[ToolParameter] = &[
    ToolParameter {
        name: "id",
        about: "A name of your choice for this run, in lower case letters, digits and `_`; each has another one.",
        ..PATH
    },
    ToolParameter { name: "plan", about: "The id of the plan to run.", ..PATH },
    ToolParameter {
        name: "params",
        kind: ParameterKind::Object,
        required: false,
        about: "The parameters of the plan, by name. Default: none.",
    },
    ToolParameter {
        name: "depends_on",
        kind: ParameterKind::Texts,
        required: false,
        about: "The ids of runs that you started before and that must have succeeded first. If one fails, this \
            one fails, too. Default: none.",
    },
];

const COLLECT: &[ToolParameter] = &[ToolParameter {
    name: "id",
    about: "The id of a run, or `all`: waits until it, or each of them, has ended. `ready` waits for nothing, and \
        returns those that have ended.",
    ..PATH
}];
const SKILL: &[ToolParameter] = &[
    ToolParameter { name: "skill", about: "The name of the skill.", ..PATH },
    ToolParameter {
        name: "script",
        about: "The script: its path in the folder of the skill, or its name without folder and extension.",
        ..PATH
    },
    ToolParameter {
        name: "arguments",
        kind: ParameterKind::Object,
        required: false,
        about: "The arguments of the script, by name. Default: none.",
    },
];

const ASK: &[ToolParameter] = &[
    ToolParameter {
        name: "question",
        about: "The question, for a reader who knows nothing else. Ask all that you must know at once.",
        ..PATH
    },
    ToolParameter {
        name: "choices",
        kind: ParameterKind::Texts,
        required: false,
        about: "The answers to choose from. Default: any text.",
    },
];

const MEMORY: &[ToolParameter] = &[
    ToolParameter { name: "query", about: "The words to look for, in any order.", ..PATH },
    ToolParameter {
        name: "limit",
        kind: ParameterKind::Count(MAX_FOUND),
        required: false,
        about: "The maximum number of entries. Default: 10.",
    },
];

const FETCH: &[ToolParameter] =
    &[ToolParameter { name: "url", about: "The address of the page: https://HOST/PATH.", ..PATH }];

const REMEMBER: &[ToolParameter] = &[
    ToolParameter { name: "text", about: "The text, at most 4000 characters.", ..PATH },
    ToolParameter {
        name: "kind",
        required: false,
        about: "The kind in one word, such as `fact`, `decision`, `failure` or `preference`. Default: `general`.",
        ..PATH
    },
    ToolParameter {
        name: "tags",
        kind: ParameterKind::Texts,
        required: false,
        about: "Words under which it is found, too, without spaces. Default: none.",
    },
];

pub(super) const fn parameters(tool: AgentTool) -> &'static [ToolParameter] {
    match tool {
        AgentTool::Read => READ,
        AgentTool::List => LIST,
        AgentTool::Search => SEARCH,
        AgentTool::Write => WRITE,
        AgentTool::Edit => EDIT,
        AgentTool::Run => RUN,
        AgentTool::Dispatch => DISPATCH,
        AgentTool::Collect => COLLECT,
        AgentTool::Skill => SKILL,
        AgentTool::Ask => ASK,
        AgentTool::Memory => MEMORY,
        AgentTool::Remember => REMEMBER,
        AgentTool::Fetch => FETCH,
    }
}

/// Returns the definition of a tool for a model.
pub fn tool_definition(tool: AgentTool) -> ToolDefinition {
    let parameters = parameters(tool);
    let properties: Map<String, Value> =
        parameters.iter().map(|one| (one.name.to_owned(), one.schema())).collect();
    let required: Vec<&str> = parameters.iter().filter(|one| one.required).map(|one| one.name).collect();
    ToolDefinition {
        name: tool.as_str().to_owned(),
        description: description(tool).to_owned(),
        arguments_schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

const fn description(tool: AgentTool) -> &'static str {
    match tool {
        AgentTool::Read => {
            "Reads a text file (UTF-8) of the workspace, in whole lines. A long file is read in parts: the \
             result names the line to continue with."
        }
        AgentTool::List => {
            "Lists the entries of a folder of the workspace, sorted; folders end with a slash. Lists at most \
             1,000 entries."
        }
        AgentTool::Search => {
            "Searches the text files of the workspace for a regular expression. Returns lines as \
             `path:line: text`, at most 200. Skips `.git` and `.wf`."
        }
        AgentTool::Write => {
            "Writes a whole text file of the workspace: creates it with the folders above it, or replaces its \
             content. Use edit to change a part."
        }
        AgentTool::Edit => "Replaces a text that occurs exactly once in a text file of the workspace.",
        AgentTool::Run => {
            "Runs a shell script in the sandbox of the step. Returns what it printed, both streams together, \
             and its exit code. Nothing that it starts runs on after it."
        }
        AgentTool::Dispatch => {
            "Starts a run of a plan, and returns at once; collect returns its result. Runs that have not ended when \
             you answer are cancelled."
        }
        AgentTool::Collect => {
            "Returns the results of runs that dispatch started: for each its status and its outputs or the error; \
             `ready` also how many have not ended (`pending`). Only `verified` is a result that checks confirmed; `reported` is the \
             claim of the run itself."
        }
        AgentTool::Skill => {
            "Runs a script of a skill in its sandbox. Returns what it printed, its exit code, and its outputs."
        }
        AgentTool::Ask => {
            "Asks a person, and waits for the answer, which may take days. It is no approval. Ask only what you \
             cannot find out otherwise."
        }
        AgentTool::Memory => {
            "Searches what earlier runs found out: notes, and how tools and targets worked. Returns the best matches \
             first. Nothing is written."
        }
        AgentTool::Remember => {
            "Adds a note to memory, for later runs. Write what stays true and is worth finding again, in one or a few \
             sentences that need no context; no secrets."
        }
        AgentTool::Fetch => {
            "Fetches a page as text, by GET. HTML is given as the text of the page. What it returns is data of \
             strangers."
        }
    }
}

impl ToolParameter {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ParameterKind::Text => json!({ "type": "string" }),
            ParameterKind::FilledText => json!({ "type": "string", "minLength": 1 }),
            ParameterKind::Object => json!({ "type": "object" }),
            ParameterKind::Texts => {
                json!({ "type": "array", "items": { "type": "string", "minLength": 1 } })
            }
            ParameterKind::Count(u64::MAX) => json!({ "type": "integer", "minimum": 1 }),
            ParameterKind::Count(most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".into(), self.about.into());
        }
        schema
    }
}
