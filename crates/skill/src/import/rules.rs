use super::SkillFormat;

/// The treatment of a field the standard does not have.
#[derive(Clone, Copy, Debug)]
pub(super) enum FieldTreatment {
    /// It describes when to use the skill, and is appended to the description.
    When,
    /// The same, as a list.
    Triggers,
    /// It is moved below `metadata`.
    Metadata,
    /// It lists requirements.
    Requires,
    /// It is an alias of `allowed-tools`.
    Tools,
    /// It has no meaning outside of its client; the reason.
    Drop(&'static str),
}

use FieldTreatment::{Drop, Metadata, Requires, Tools, Triggers, When};

/// The fields of the flavours.
const FIELDS: [(&str, SkillFormat, FieldTreatment); 21] = [
    ("when_to_use", SkillFormat::Claude, When),
    ("tools", SkillFormat::Claude, Tools),
    ("model", SkillFormat::Claude, Metadata),
    ("effort", SkillFormat::Claude, Metadata),
    ("argument-hint", SkillFormat::Claude, Drop("arguments are not typed in: a step sets them")),
    ("user-invocable", SkillFormat::Claude, Drop("there is no menu to hide the skill from")),
    (
        "disable-model-invocation",
        SkillFormat::Claude,
        Drop("models do not start skills: a plan does, and the plan is approved"),
    ),
    ("context", SkillFormat::Claude, Drop("every step runs in its own process anyway")),
    ("agent", SkillFormat::Claude, Drop("the plan decides who executes a step")),
    ("hooks", SkillFormat::Claude, Drop("skills have no hooks; use a gate or a check of the plan")),
    (
        "paths",
        SkillFormat::Claude,
        Drop("a plan lists the skills that it uses, regardless of the files it touches"),
    ),
    ("shell", SkillFormat::Claude, Drop("the extension of a script determines its interpreter")),
    ("triggers", SkillFormat::Openai, Triggers),
    ("requires", SkillFormat::Openai, Requires),
    ("version", SkillFormat::Openai, Metadata),
    ("author", SkillFormat::Openai, Metadata),
    ("homepage", SkillFormat::Openai, Metadata),
    ("source", SkillFormat::Openai, Metadata),
    ("tags", SkillFormat::Openai, Metadata),
    ("keywords", SkillFormat::Openai, Metadata),
    ("category", SkillFormat::Openai, Metadata),
];

/// Returns the flavour of a field, and its treatment.
pub(super) fn rule(field: &str) -> Option<(SkillFormat, FieldTreatment)> {
    let mut rules = FIELDS.iter();
    let (_, format, rule) = rules.find(|(name, _, _)| *name == field)?;
    Some((*format, *rule))
}
