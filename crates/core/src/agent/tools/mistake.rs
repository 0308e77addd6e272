use wf_base::keyword::Keyword as _;
use wf_model::AgentTool;

/// The maximum number of characters a mistake quotes.
const QUOTED_CHARS: usize = 80;

/// The reason why a call cannot be carried out, in one sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolMistake {
    /// There is no such tool.
    #[error("there is no tool {called}; {tools}")]
    UnknownTool {
        /// The name, quoted.
        called: String,
        tools: String,
    },
    /// The step does not list the tool.
    #[error("this step may not use the tool `{tool}`; {tools}")]
    UnlistedTool { tool: AgentTool, tools: String },
    /// The arguments are not JSON.
    #[error("the arguments of `{tool}` are not JSON: {reason}")]
    NotJson {
        tool: AgentTool,
        /// The reason and the place.
        reason: String,
    },
    /// The arguments are not an object.
    #[error("the arguments of `{tool}` must be a JSON object, not {found}")]
    NotAnObject { tool: AgentTool, found: &'static str },
    /// An argument is given twice.
    #[error("the arguments of `{tool}` have the key {name} more than once; give it once")]
    DuplicateArgument {
        tool: AgentTool,
        /// The key, quoted.
        name: String,
    },
    /// The tool has no such argument.
    #[error("`{tool}` has no argument {name}; it has {known}")]
    UnknownArgument {
        tool: AgentTool,
        /// The key, quoted.
        name: String,
        /// The arguments it has.
        known: String,
    },
    /// A required argument is missing.
    #[error("`{tool}` needs the argument `{name}`")]
    MissingArgument {
        tool: AgentTool,
        /// The argument.
        name: &'static str,
    },
    /// A value is not of the kind of its argument.
    #[error("the argument `{name}` of `{tool}` must be {expected}, not {found}")]
    UnfitArgument {
        tool: AgentTool,
        /// The argument.
        name: &'static str,
        expected: String,
        /// The value given.
        found: String,
    },
}

/// Lists the tools of a step.
pub(super) fn tools_text(tools: &[AgentTool]) -> String {
    match words(tools.iter().map(|tool| tool.word())) {
        list if list.is_empty() => "this step has no tools".to_owned(),
        list => format!("the tools are {list}"),
    }
}

/// Lists words.
pub(super) fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// Quotes a word of the model as JSON: it may be long, and contain any character.
pub(super) fn quoted(word: &str) -> String {
    let mut shown: String = word.chars().take(QUOTED_CHARS).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    serde_json::Value::String(shown).to_string()
}
