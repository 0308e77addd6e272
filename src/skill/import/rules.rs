use super::Format;

/// What becomes of a field that the standard does not have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// It says when to use the skill, and is appended to the description.
    When,
    /// So it does, as a list.
    Triggers,
    /// It is kept below `metadata`.
    Metadata,
    /// It says what must be there.
    Requires,
    /// It is another name of `allowed-tools`.
    Tools,
    /// It means nothing outside of the client that reads it: why.
    Drop(&'static str),
}

use Rule::{Drop, Metadata, Requires, Tools, Triggers, When};

/// The fields of the flavours.
const FIELDS: [(&str, Format, Rule); 21] = [
    ("when_to_use", Format::Claude, When),
    ("tools", Format::Claude, Tools),
    ("model", Format::Claude, Metadata),
    ("effort", Format::Claude, Metadata),
    (
        "argument-hint",
        Format::Claude,
        Drop("nobody types the arguments of a skill: a step names them"),
    ),
    (
        "user-invocable",
        Format::Claude,
        Drop("there is no menu that a skill could be hidden from"),
    ),
    (
        "disable-model-invocation",
        Format::Claude,
        Drop("no model starts a skill: a plan names it, and people approve the plan"),
    ),
    (
        "context",
        Format::Claude,
        Drop("a step runs in a process of its own in any case"),
    ),
    (
        "agent",
        Format::Claude,
        Drop("who works on a step stands in the plan"),
    ),
    (
        "hooks",
        Format::Claude,
        Drop(
            "nothing is executed because a skill is there; a gate or a check of the plan can do it",
        ),
    ),
    (
        "paths",
        Format::Claude,
        Drop("a plan names the skills that it uses, whatever files it touches"),
    ),
    (
        "shell",
        Format::Claude,
        Drop("the ending of a script decides who executes it"),
    ),
    ("triggers", Format::Openai, Triggers),
    ("requires", Format::Openai, Requires),
    ("version", Format::Openai, Metadata),
    ("author", Format::Openai, Metadata),
    ("homepage", Format::Openai, Metadata),
    ("source", Format::Openai, Metadata),
    ("tags", Format::Openai, Metadata),
    ("keywords", Format::Openai, Metadata),
    ("category", Format::Openai, Metadata),
];

/// Whose field it is, and what becomes of it.
pub(super) fn rule(field: &str) -> Option<(Format, Rule)> {
    let mut all = FIELDS.iter();
    let (_, format, rule) = all.find(|(name, _, _)| *name == field)?;
    Some((*format, *rule))
}
