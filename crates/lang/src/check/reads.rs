use crate::ast::{CheckSpec, ForEachSpec, InteractionSpec, PlanSpec, SkillArgs, StepSpec};
use wf_model::expr::{SpannedReference, Template};

/// A name an expression of a plan reads.
pub(super) struct ExprRead<'a> {
    /// The name, and its location.
    pub(super) reference: &'a SpannedReference,
    /// The index of the step containing it; `None`: the plan itself.
    pub(super) step: Option<usize>,
    /// The kind of location.
    pub(super) site: ExprSite,
}

/// The kinds of locations of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExprSite {
    /// The plan's `intent`, known before any step.
    Intent,
    /// A variable for every step.
    PlanEnv,
    /// The plan's own criteria and outputs, evaluated last.
    PlanEnd,
    When,
    ForEach,
    /// A variable of a step.
    Env,
    /// A header or the body of a request.
    Request,
    /// A check of a step.
    Check,
    Argument,
    /// The address of a request.
    Url,
    /// A parameter of a used plan.
    With,
    /// The text of a generated plan.
    Uses,
    /// The name of a file to wait for.
    File,
    /// A glob of the files a cache keeps.
    Cache,
    /// A glob of the files a step leaves.
    Artifact,
    /// The working directory of a step.
    Cwd,
    /// The message of an approval, and the values shown with it.
    Approve,
}

impl ExprSite {
    /// Returns its name for a sentence.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Intent => "`intent`",
            Self::PlanEnv => "the plan's `env`",
            Self::PlanEnd => "the plan's checks and `outputs`",
            Self::When => "`when`",
            Self::ForEach => "`for_each`",
            Self::Env => "`env`",
            Self::Request => "a header or body",
            Self::Check => "a check",
            Self::Argument => "an argument",
            Self::Url => "a URL",
            Self::With => "`with`",
            Self::Uses => "`uses`",
            Self::File => "a file name",
            Self::Cache => "`cache`",
            Self::Artifact => "`artifacts` or `writes`",
            Self::Cwd => "`cwd`",
            Self::Approve => "`approve`",
        }
    }
}

/// Returns everything the expressions of a plan read, in the order of its keys.
pub(super) fn reads_of_plan<'a>(plan: &'a PlanSpec, steps: &[&'a StepSpec]) -> Vec<ExprRead<'a>> {
    let mut reads = ExprReadCollector { reads: Vec::new(), step: None };
    reads.templates(ExprSite::Intent, plan.intent.iter().map(|intent| &intent.value));
    reads.templates(ExprSite::PlanEnv, plan.env.iter().map(|(_, value)| value));
    for (at, step) in steps.iter().enumerate() {
        reads.step = Some(at);
        step.with_all_alternatives().for_each(|way| reads.step(way));
    }
    reads.step = None;
    for check in plan.checks() {
        reads.check(ExprSite::PlanEnd, check);
    }
    let outputs = plan.outputs.iter().filter_map(|(_, output)| Some(&output.value.value.as_ref()?.value));
    reads.templates(ExprSite::PlanEnd, outputs);
    let undo = plan.undo.iter().flat_map(|undo| undo.with.iter());
    reads.templates(ExprSite::With, undo.map(|(_, value)| &value.value.0));
    reads.reads
}

struct ExprReadCollector<'a> {
    reads: Vec<ExprRead<'a>>,
    step: Option<usize>,
}

impl<'a> ExprReadCollector<'a> {
    fn add(&mut self, site: ExprSite, references: &'a [SpannedReference]) {
        let step = self.step;
        self.reads.extend(references.iter().map(|reference| ExprRead { reference, step, site }));
    }

    fn templates(&mut self, site: ExprSite, templates: impl Iterator<Item = &'a Template>) {
        for template in templates {
            self.add(site, template.refs());
        }
    }

    fn step(&mut self, step: &'a StepSpec) {
        if let Some(when) = &step.when {
            self.add(ExprSite::When, when.refs());
        }
        if let Some(ForEachSpec::Computed(list)) = step.for_each.as_ref().map(|each| &each.value) {
            self.add(ExprSite::ForEach, list.refs());
        }
        let argv = step.exec.iter().flat_map(|argv| &argv.value);
        self.templates(ExprSite::Argument, argv.map(|argument| &argument.value));
        let arguments = step.skill.iter().filter_map(|used| used.value.args.as_ref());
        self.templates(ExprSite::Argument, arguments.flat_map(SkillArgs::templates));
        let values = step.agent.iter().flat_map(|agent| agent.value.with.iter());
        self.templates(ExprSite::With, values.map(|(_, value)| &value.value.0));
        let recalled = step.agent.iter().filter_map(|agent| agent.value.recall.as_ref());
        self.templates(ExprSite::With, recalled.map(|task| &task.value));
        let signals = step.agent.iter().filter_map(|agent| agent.value.interaction.as_ref());
        self.templates(ExprSite::With, signals.flat_map(InteractionSpec::templates));
        if let Some(http) = &step.http {
            self.templates(ExprSite::Url, std::iter::once(&http.url.value));
            let headers = http.headers.iter().map(|(_, value)| value);
            self.templates(ExprSite::Request, headers.chain(&http.body));
        }
        let text = step.generated().and_then(|generated| generated.text.as_ref());
        self.templates(ExprSite::Uses, text.into_iter().map(|text| &text.value));
        self.templates(ExprSite::With, step.with.iter().map(|(_, value)| &value.value.0));
        let file = step.wait.iter().filter_map(|wait| wait.file.as_ref());
        self.templates(ExprSite::File, file.map(|file| &file.value));
        if let Some(approve) = &step.approve {
            let shown = approve.show.iter().map(|(_, value)| &value.value);
            let message = std::iter::once(&approve.message.value);
            let answered = approve.answer.as_ref().and_then(|answer| answer.value.template());
            self.templates(ExprSite::Approve, message.chain(shown).chain(answered));
        }
        let globs = step.cache.iter().flat_map(|cache| cache.inputs.iter().chain(&cache.outputs));
        self.templates(ExprSite::Cache, globs.map(|glob| &glob.value));
        let left = step.artifacts.iter().chain(&step.writes);
        self.templates(ExprSite::Artifact, left.map(|glob| &glob.value));
        self.templates(ExprSite::Cwd, step.cwd.iter().map(|cwd| &cwd.value));
        self.templates(ExprSite::Env, step.env.iter().map(|(_, value)| value));
        for check in step.checks() {
            self.check(ExprSite::Check, check);
        }
    }

    fn check(&mut self, site: ExprSite, check: &'a CheckSpec) {
        self.templates(site, check.exec.iter().flat_map(|argv| &argv.value));
        self.templates(site, check.env.iter().map(|(_, value)| value));
    }
}
