//! Mistakes in a text, as data. The command line renders them (`cli::render`).
//!
//! **Invariant:** all mistakes of a text are collected; the first never hides the others.

use crate::source::{SourceText, Span};

/// The severity of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, but is probably not what its author meant.
    Warning,
}

/// A related location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticLabel {
    pub span: Span,
    pub text: String,
}

/// One mistake in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that was broken.
    pub code: Code,
    /// A description of the mistake, as a lower-case fragment that stands alone.
    pub message: String,
    /// The span of the mistake.
    pub span: Span,
    /// A few words under the underlined text.
    pub label: String,
    /// Related locations.
    pub related: Vec<DiagnosticLabel>,
    /// The remedy.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Makes a diagnostic from a rule, a span and a description.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, label: String::new(), related: Vec::new(), help: None }
    }

    /// Adds a few words under the underlined text.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Adds a related location.
    #[must_use]
    pub fn with_related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.related.push(DiagnosticLabel { span, text: text.into() });
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Suggests the nearest valid name as the remedy, if there is one.
    #[must_use]
    pub fn with_suggestion(self, nearest: Option<&str>) -> Self {
        match nearest {
            Some(name) => self.with_help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Returns the severity, which the code decides.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// Defines every code once: its variant, its stable text, its severity, its meaning.
macro_rules! codes {
    ($($variant:ident $text:literal $severity:ident $meaning:literal)*) => {
        /// A rule that a text can break. The text of a code is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $meaning] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable text, for example `plan/unknown-step`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns the severity of breaking it.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// Returns its meaning, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    FileTooLarge "file/too-large" Error "The file exceeds the size limit for spec files."
    FileNotText "file/not-text" Error "The file is not UTF-8 text."
    FileUnreadable "file/unreadable" Error "The file cannot be read."
    FrontMatterMissing "file/no-front-matter" Error "The file does not start with front matter between `---` lines."
    FrontMatterOpen "file/open-front-matter" Error "The front matter has no closing `---` line."
    YamlSyntax "yaml/syntax" Error "The front matter is not well-formed YAML."
    YamlFeature "yaml/feature" Error "Anchors, aliases, tags, merge keys and several documents are not allowed."
    YamlDuplicateKey "yaml/duplicate-key" Error "Duplicate key in a mapping."
    YamlTooLarge "yaml/too-large" Error "The front matter is nested too deeply or has too many nodes."
    KindUnknown "spec/unknown-kind" Error "Unknown `kind`."
    FeatureMissing "spec/not-built-in" Error "A value needs a feature that this `wf` was built without."
    KeyUnknown "spec/unknown-key" Error "Unknown key."
    KeyMissing "spec/missing-key" Error "A required key is missing."
    TypeWrong "spec/wrong-type" Error "The value has the wrong type."
    ValueWrong "spec/wrong-value" Error "The value has the right type, but is invalid."
    NameMalformed "spec/malformed-name" Error "Invalid name."
    ExecutorMissing "plan/no-executor" Error "A step has nothing to execute."
    ExecutorTwice "plan/two-executors" Error "A step has more than one executor."
    DuplicateId "plan/duplicate-id" Error "Duplicate name in a plan."
    UnknownStep "plan/unknown-step" Error "Reference to an unknown step."
    UnknownParam "plan/unknown-param" Error "Reference to an undeclared parameter."
    UnknownOutput "plan/unknown-output" Error "A step does not declare the output that is read."
    UnknownSecret "plan/unknown-secret" Error "Reference to an undeclared secret."
    UnknownName "plan/unknown-name" Error "An expression uses a name that does not exist there."
    NotUpstream "plan/not-upstream" Error "A step reads from a step that it does not depend on."
    Cycle "plan/cycle" Error "Dependency cycle between steps."
    Unreachable "plan/unreachable" Error "A step can never run."
    NeverTrue "plan/never-true" Error "A `when` is never true."
    TemplateInScript "plan/template-in-script" Error "A script or the briefing of an agent contains a template, which is not expanded: in a script its value would become code."
    SecretExposed "plan/secret-exposed" Error "A secret is used where it would be exposed."
    ExpressionSyntax "expr/syntax" Error "Syntax error in an expression."
    ExpressionForm "expr/not-allowed" Error "An expression uses an unsupported operation."
    UsesUnreadable "plan/uses-unreadable" Error "A used plan cannot be loaded."
    LockNested "plan/lock-held" Error "Deadlock: a step holds a lock that the plan it uses waits for."
    EnvelopeBroken "plan/outside-envelope" Error "A generated plan has something that its envelope does not allow."
    UsesCycle "plan/uses-itself" Error "A plan uses itself, directly or through others."
    OrderWrong "dag/wrong-order" Error "The given `execution_order` contradicts `depends_on`."
    SchemaInvalid "plan/invalid-schema" Error "Invalid JSON Schema."
    DefaultInvalid "plan/invalid-default" Error "The default of a parameter or an output does not match its schema."
    UnusedParam "plan/unused-param" Warning "A parameter is declared but never used."
    UnusedSecret "plan/unused-secret" Error "A secret is declared but never used."
    NumberRewritten "plan/rewritten-number" Warning "A step is repeated for a number that is used otherwise than it is written."
    ItemKeyUndeclared "plan/undeclared-key" Warning "A step names its items by a property that the schema of its list does not declare."
    UnusedAlternatives "plan/unused-alternatives" Warning "A step has alternatives that are never used."
    UnknownGate "gate/unknown" Error "A gate does not exist or cannot be loaded."
    GateMisnamed "gate/wrong-name" Error "The id of a gate does not match its file name."
    GateMisplaced "gate/wrong-place" Error "A gate of a step has a trigger that applies to the whole run."
    ClampForbidden "gate/clamp-forbidden" Error "A gate clamps a value that it may not rewrite."
    UnknownEscalation "gate/unknown-escalation" Error "Reference to an unknown escalation."
    UnknownApprover "approval/unknown-approver" Error "A listed approver is not allowed to approve anything."
    EscalationElsewhere "gate/escalation-elsewhere" Warning "A gate's file refers to an escalation that only a plan can declare."
    TaskNotStarted "gate/task-not-started" Error "An escalation would start a plan where none can be started."
    EscalationCycle "gate/escalation-cycle" Error "Escalations fall back on each other in a cycle."
    UnusedEscalation "gate/unused-escalation" Error "An escalation is declared but never used."
    UnknownSkill "skill/unknown" Error "Skill not found in the workspace."
    SkillUnreadable "skill/unreadable" Error "A skill cannot be loaded."
    SkillNoted "skill/noted" Warning "The skill loads, but violates the standard."
    UnknownScript "skill/unknown-script" Error "A script is not part of its skill, or the script to run is ambiguous."
    UnknownArgument "skill/unknown-argument" Error "Unknown argument of a script."
    SkillOutside "skill/outside" Error "A skill is not listed in the `skills` of a plan."
    SkillWider "skill/wider" Error "A step grants a script more than its skill asks for."
    UnknownModel "model/unknown" Error "Reference to a model or a role that `wf.yaml` does not define."
    UnknownServer "mcp/unknown" Error "Reference to an MCP server that `wf.yaml` does not define."
    ScheduleInvalid "goal/bad-schedule" Error "Invalid schedule, or one that is never due."
    UnknownZone "goal/unknown-zone" Error "Unknown time zone."
    TimeInvalid "goal/bad-time" Error "Invalid date or time, or a time span that ends before it starts."
    NeverDue "goal/never-due" Error "A goal is never due."
    SplayWide "goal/wide-splay" Warning "The splay of a goal is longer than the interval between two slots."
    SectionUnused "plan/unused-section" Warning "A section has a fenced script that no step uses."
    ProductUndeclared "plan/undeclared-product" Warning "A check reads a file that a step produces but does not declare."
    ProductNone "plan/no-product" Warning "A step may write the whole workspace and names nothing that it makes."
    ProductEverything "plan/unbounded-product" Warning "The products of a step cover the whole workspace, and a check fixes nothing."
    ProductOfCheck "plan/check-input" Warning "A step may change a file that a check names."
    ProductHarness "plan/harness-product" Warning "The products of a step cover a file that checks usually rely on."
    TaintShell "taint/shell" Warning "Untrusted input reaches a shell, an interpreter or the choice of a program."
    TaintPath "taint/path" Warning "Untrusted input reaches the name of a file."
    TaintUrl "taint/url" Warning "Untrusted input reaches the URL or a header of a request."
    TaintGate "taint/gate" Warning "A gate is decided by untrusted input."
    TaintPlan "taint/plan" Warning "Untrusted input reaches a plan that a step runs."
    TaintSpec "taint/spec" Warning "Untrusted input is passed to a plan in which it reaches such a place."
}

/// A file checked and its diagnostics.
#[derive(Clone, Debug)]
pub struct CheckedFile {
    /// The file; its path is shown as it is.
    pub source: SourceText,
    /// The diagnostics, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl CheckedFile {
    /// Returns the number of diagnostics of a severity in the file.
    pub fn count(&self, severity: Severity) -> usize {
        let of = |diagnostic: &&Diagnostic| diagnostic.severity() == severity;
        self.diagnostics.iter().filter(of).count()
    }
}

/// Returns the candidate nearest to `word`, if it is near enough to be what was meant.
pub fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    among
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_words_are_suggested() {
        let words = ["depends_on", "retry", "run"];
        assert_eq!(nearest("depend_on", words), Some("depends_on"));
        assert_eq!(nearest("rn", words), Some("run"));
        assert_eq!(nearest("frobnicate", words), None);
    }
}
