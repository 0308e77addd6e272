use super::Severity;

/// Defines every code once: its variant, its stable text, its severity, what it means.
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

            /// The stable text, for example `plan/unknown-step`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// How bad breaking it is.
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

codes! {
    FileTooLarge "file/too-large" Error "The file is larger than a spec may be."
    FileNotText "file/not-text" Error "The file is not UTF-8 text."
    FileUnreadable "file/unreadable" Error "The file cannot be read."
    FrontMatterMissing "file/no-front-matter" Error "The file does not begin with front matter between `---` lines."
    FrontMatterOpen "file/open-front-matter" Error "The front matter has no closing `---` line."
    YamlSyntax "yaml/syntax" Error "The front matter is not well-formed YAML."
    YamlFeature "yaml/feature" Error "Anchors, aliases, tags, merge keys and several documents are not allowed."
    YamlDuplicateKey "yaml/duplicate-key" Error "A key stands twice in one mapping."
    YamlTooLarge "yaml/too-large" Error "The front matter is nested too deeply or has too many nodes."
    KindUnknown "spec/unknown-kind" Error "The `kind` is not one that exists."
    KindNotBuilt "spec/not-built-yet" Error "The `kind` or key is known and not built yet."
    KeyUnknown "spec/unknown-key" Error "A key is not one of the language's."
    KeyMissing "spec/missing-key" Error "A required key is missing."
    TypeWrong "spec/wrong-type" Error "A value is not of the type its key takes."
    ValueWrong "spec/wrong-value" Error "A value is of the right type and not one its key can have."
    NameMalformed "spec/malformed-name" Error "A name does not have the form of a name."
    ExecutorMissing "plan/no-executor" Error "A step says nothing that could be executed."
    ExecutorTwice "plan/two-executors" Error "A step names more than one executor."
    DuplicateId "plan/duplicate-id" Error "Two things of a plan share a name."
    UnknownStep "plan/unknown-step" Error "A step is referred to that does not exist."
    UnknownParam "plan/unknown-param" Error "A parameter is referred to that is not declared."
    UnknownOutput "plan/unknown-output" Error "An output is read that its step does not declare."
    UnknownSecret "plan/unknown-secret" Error "A secret is referred to that is not declared."
    UnknownName "plan/unknown-name" Error "An expression refers to a name that does not exist there."
    NotUpstream "plan/not-upstream" Error "A step reads from a step that it does not depend on."
    Cycle "plan/cycle" Error "Steps depend on each other in a circle."
    Unreachable "plan/unreachable" Error "A step can never be reached."
    NeverTrue "plan/never-true" Error "A `when` can never be true."
    TemplateInScript "plan/template-in-script" Error "A template stands in a script, where a value would become code."
    SecretExposed "plan/secret-exposed" Error "A secret is placed where others could read it."
    ExpressionSyntax "expr/syntax" Error "An expression is not well-formed."
    ExpressionForm "expr/not-allowed" Error "An expression uses more than lookups, comparisons, and, or, not and the given functions."
    UsesUnreadable "plan/uses-unreadable" Error "A plan that a step uses cannot be loaded."
    LockNested "plan/lock-held" Error "A step holds a lock that the plan it uses waits for."
    UsesCycle "plan/uses-itself" Error "A plan uses itself, directly or through others."
    OrderWrong "dag/wrong-order" Error "The given `execution_order` contradicts `depends_on`."
    SchemaInvalid "plan/invalid-schema" Error "A JSON Schema is not one."
    DefaultInvalid "plan/invalid-default" Error "A default does not satisfy its own parameter."
    UnusedParam "plan/unused-param" Error "A parameter is declared and never used."
    UnusedSecret "plan/unused-secret" Error "A secret is declared and never used."
    UnusedAlternatives "plan/unused-alternatives" Warning "A step has alternatives that nothing chooses from."
    UnknownGate "gate/unknown" Error "A gate is named that does not exist or cannot be loaded."
    GateMisnamed "gate/wrong-name" Error "A gate's id is not the name of its file."
    GateMisplaced "gate/wrong-place" Error "A gate of a step has a trigger of the whole run."
    UnknownEscalation "gate/unknown-escalation" Error "An escalation is referred to that does not exist."
    UnknownApprover "approval/unknown-approver" Error "Somebody is to be asked who may approve nothing."
    EscalationElsewhere "gate/escalation-elsewhere" Warning "A gate's file relies on an escalation that only a plan can have."
    TaskNotStarted "gate/task-not-started" Error "An escalation is to start a plan, and a run starts no other plan by itself."
    EscalationCycle "gate/escalation-cycle" Error "Escalations fall back on each other in a circle."
    UnusedEscalation "gate/unused-escalation" Error "An escalation is declared and nothing leads to it."
    UnknownSkill "skill/unknown" Error "A skill is named that the workspace does not have."
    SkillUnreadable "skill/unreadable" Error "A skill cannot be loaded."
    SkillNoted "skill/noted" Warning "A skill is loaded, and breaks a rule of the standard."
    UnknownScript "skill/unknown-script" Error "A script is named that its skill does not have, or none where there are several."
    UnknownArgument "skill/unknown-argument" Error "An argument is given that a script does not take."
    SkillOutside "skill/outside" Error "A skill is used that is not among the `skills` of a plan."
    SkillWider "skill/wider" Error "A step allows a script more than its skill asks for."
    ScheduleInvalid "goal/bad-schedule" Error "A schedule is not well-formed, or can never be due."
    UnknownZone "goal/unknown-zone" Error "A time zone does not exist."
    TimeInvalid "goal/bad-time" Error "A date or a time does not exist, or a span of time ends before it begins."
    NeverDue "goal/never-due" Error "A goal is never due."
    SplayWide "goal/wide-splay" Warning "A goal is spread out over more time than there is between two of its slots."
    SectionUnused "plan/unused-section" Warning "A section has a fenced script that no step takes."
    ProductUndeclared "plan/undeclared-product" Warning "A check reads a file that a step makes and no step declares."
    TaintShell "taint/shell" Warning "A value from outside reaches a shell, an interpreter or the choice of a program."
    TaintPath "taint/path" Warning "A value from outside reaches the name of a file."
    TaintUrl "taint/url" Warning "A value from outside reaches the address or a header of a request."
    TaintGate "taint/gate" Warning "A gate decides by a value from outside."
    TaintSpec "taint/spec" Warning "A value from outside is given to a plan in which it reaches such a place."
}
