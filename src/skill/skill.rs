use std::collections::BTreeMap;

use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// A skill as wf loads it: as much as it says, whatever else is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is called; its folder's name if it does not say.
    pub name: String,
    /// What it does and when to use it; never blank.
    pub description: String,
    /// Under which licence it is.
    pub license: Option<String>,
    /// What it needs of where it runs.
    pub compatibility: Option<String>,
    /// Which tools it says that it needs; wf grants none of them for that.
    pub allowed_tools: Vec<String>,
    /// What else it says of itself.
    pub metadata: BTreeMap<String, String>,
    /// Where in SKILL.md the text of `metadata.wf` stands (the block's own lines, indented as
    /// they are), if it is there.
    pub own: Option<Span>,
    /// Where the Markdown stands.
    pub body: Span,
    /// What is wrong with it and keeps nobody from loading it.
    pub warnings: Vec<Finding>,
}

/// Something wrong with a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which rule it breaks. Stable; see `docs/skills.md`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where in SKILL.md.
    pub span: Span,
    /// What to do about it.
    pub help: Option<String>,
}

impl Finding {
    /// Says what is wrong and where.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            help: None,
        }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same as a mistake of a file: of a skill that does not load, or of one that does.
    pub fn diagnostic(&self, loads: bool) -> Diagnostic {
        let code = if loads {
            Code::SkillNoted
        } else {
            Code::SkillUnreadable
        };
        let message = format!("{} ({})", self.message, self.code);
        let mistake = Diagnostic::new(code, self.span, message);
        match &self.help {
            Some(help) => mistake.help(help.clone()),
            None => mistake,
        }
    }
}
