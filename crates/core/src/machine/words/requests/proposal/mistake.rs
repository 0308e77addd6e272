//! The reasons why a proposal makes no alternative of a step, as its planner is told them.

use crate::agent::GuidanceTextMistake;
use wf_base::{
    name::{EnvName, Name},
    time::BadDuration,
};

/// The mistake in a proposed alternative.
#[derive(Debug, thiserror::Error)]
pub(in crate::machine) enum ProposalMistake {
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    /// It would let the step reach more, or verify less.
    #[error("{} can be set only in the plan", key_list(.0))]
    ForbiddenKeys(Vec<String>),
    /// It changes another kind of work than the step does.
    #[error("{} can be set only in the plan: the step has `{kind}`", key_list(.keys))]
    OtherWork { keys: Vec<&'static str>, kind: &'static str },
    #[error("a step with `wait` can be done only as it is written")]
    WaitStep,
    #[error("a step with `approve` is decided by people alone")]
    ApproveStep,
    #[error("the step already has an alternative `{0}`")]
    KnownId(Name),
    /// It does the same as an alternative; `None`: as the step as written.
    #[error("it does the same as {}", known_alternative(.0.as_ref()))]
    SameWork(Option<Name>),
    #[error("it executes the same as tool `{0}` under another name")]
    SameTool(String),
    #[error("it executes another command, but `tool` is missing")]
    NoTool,
    #[error("`tool` and `target` must be plain words, without templates or surrounding whitespace")]
    NotPlainWord,
    #[error("`{text}`: {duration_error}")]
    Timeout { text: String, duration_error: BadDuration },
    #[error("`timeout` must not be zero")]
    ZeroTimeout,
    #[error("`cwd` leaves the workspace: {0}")]
    OutsideFolder(String),
    #[error("`{0}`: names that start with `WF_` are reserved")]
    ReservedName(EnvName),
    #[error("`{0}` and `{1}` are mutually exclusive")]
    Exclusive(&'static str, &'static str),
    #[error("`{0}` is not a valid template")]
    NotTemplate(String),
    #[error("`{key}` reads {reference}, which the step does not read")]
    OtherRead { key: String, reference: String },
    #[error("`{0}`: templates are not supported inside a list or an object")]
    NestedTemplate(String),
    #[error("templates are not supported in `{0}`: pass values in `env`")]
    CommandTemplate(&'static str),
    #[error("`exec` is missing the program")]
    NoProgram,
    #[error("`plan` is missing: the step is open, and has nothing else to do")]
    NoPlan,
    #[error("`uses`: the step does not list the plan {0}")]
    UnlistedPlan(String),
    #[error("`{key}`: plan {plan} has no such parameter")]
    UnknownParam { key: String, plan: String },
    /// A value is not as its declaration asks.
    #[error("`{key}`: {mistake}")]
    Misfit { key: String, mistake: String },
    #[error("`{0}`: the script takes no such argument")]
    UnknownArgument(String),
    #[error("`skill.args`: the script takes its arguments by name")]
    UnnamedArguments,
    #[error("`agent.{kind}`: no agent of the plan has the {kind} `{name}`")]
    UnknownModel { kind: &'static str, name: Name },
    #[error("`agent.max_turns` must be from 1 to {0}, the most in the plan")]
    Turns(u32),
    #[error("`{key}`: the step has no value `{name}`")]
    UnknownValue { key: String, name: Name },
    #[error("`agent.guidance` {0}")]
    Guidance(#[from] GuidanceTextMistake),
    #[error("`http.url` must begin with `http://` or `https://`")]
    NoOrigin,
    /// The request would go elsewhere than those of the plan or, with a secret, of the step.
    #[error("`http.url`: the {} names no `{origin}`", if *.has_secret { "step, which sends a secret," } else { "plan" })]
    OtherOrigin { origin: String, has_secret: bool },
    #[error("`http.body`: the step sends no body")]
    NoBody,
}

fn key_list(keys: &[impl AsRef<str>]) -> String {
    keys.iter().map(|key| format!("`{}`", key.as_ref())).collect::<Vec<_>>().join(", ")
}

fn known_alternative(id: Option<&Name>) -> String {
    id.map_or_else(|| "the step as written".to_owned(), |id| format!("`{id}`"))
}
