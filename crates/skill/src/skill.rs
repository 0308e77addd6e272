use std::collections::{BTreeMap, BTreeSet};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Span,
};

/// A skill as wf loads it: as much as is readable, despite its mistakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name; the name of its folder if it has none.
    pub name: String,
    /// The purpose of the skill and the occasions to use it; never blank.
    pub description: String,
    pub license: Option<String>,
    /// The requirements on its environment.
    pub compatibility: Option<String>,
    /// The tools it asks for; wf grants none of them because of that.
    pub allowed_tools: Vec<String>,
    /// Its other metadata.
    pub metadata: BTreeMap<String, String>,
    /// The span in SKILL.md of the text of `metadata.wf` (the block's own lines, with their
    /// indentation), if it exists.
    pub own: Option<Span>,
    /// The span of the Markdown.
    pub body: Span,
    /// The mistakes that do not prevent loading it.
    pub warnings: Vec<SkillFinding>,
}

/// A mistake in a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFinding {
    /// The code of the broken rule. Stable; see `docs/skills.md`.
    pub code: &'static str,
    /// A description of the mistake.
    pub message: String,
    /// Its span in SKILL.md.
    pub span: Span,
    /// The remedy.
    pub help: Option<String>,
}

impl SkillFinding {
    /// Makes a finding without a remedy.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, help: None }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns it as a diagnostic: for a skill unable to load, or for another one.
    pub fn diagnostic(&self, loads: bool) -> Diagnostic {
        let code = if loads { Code::SkillNoted } else { Code::SkillUnreadable };
        let message = format!("{} ({})", self.message, self.code);
        let mistake = Diagnostic::new(code, self.span, message);
        match &self.help {
            Some(help) => mistake.with_help(help.clone()),
            None => mistake,
        }
    }
}

/// The declarations of a skill about its scripts in `metadata.wf`. Its reader fills them in;
/// without them a script has no variables of its own and no network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptDeclarations {
    /// The scripts, by path relative to the skill.
    pub scripts: BTreeMap<String, ScriptDeclaration>,
}

/// The declarations of a skill about one script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptDeclaration {
    /// The environment variables it is given, by name.
    pub env: BTreeSet<String>,
    /// True if it may use the network.
    pub net: bool,
    /// The files and folders it may read in addition to the workspace.
    pub read: Vec<String>,
    /// The files and folders of the workspace it may write.
    pub write: Vec<String>,
    /// The programs it may start; `None`: every program it can read.
    pub exec: Option<Vec<String>>,
    /// True if an install tries it, in the sandbox.
    pub is_tried: bool,
}
