use crate::expr::{SpannedRef, Template};
use crate::spec::ast::{Check, ForEach, Plan, SkillArgs, Step};

/// A name that an expression of a plan reads.
pub(super) struct Read<'a> {
    /// What is read, and where that is written.
    pub(super) what: &'a SpannedRef,
    /// The step in which it is written, by its place; `None`: the plan itself.
    pub(super) step: Option<usize>,
    /// The kind of place.
    pub(super) site: Site,
}

/// The kinds of places in which expressions stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// A variable for every step.
    PlanEnv,
    /// The plan's own criteria and outputs, which are asked last.
    PlanEnd,
    /// `when`
    When,
    /// `for_each`
    ForEach,
    /// A variable of a step.
    Env,
    /// A header or the body of a request.
    Request,
    /// A check of a step.
    Check,
    /// An argument.
    Argument,
    /// The address of a request.
    Url,
    /// A parameter of a plan that is used.
    With,
    /// The name of a file to wait for.
    File,
    /// A glob of the files that a cache keeps.
    Cache,
    /// A glob of the files that a step leaves.
    Artifact,
    /// Where a step runs.
    Cwd,
    /// What people are asked, and the values that they are shown.
    Approve,
}

impl Site {
    /// What it is called in a sentence.
    pub(super) fn noun(self) -> &'static str {
        match self {
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
            Self::File => "a file name",
            Self::Cache => "`cache`",
            Self::Artifact => "`artifacts` or `writes`",
            Self::Cwd => "`cwd`",
            Self::Approve => "`approve`",
        }
    }
}

/// Everything that the expressions of a plan read, in the order of its keys.
pub(super) fn of<'a>(plan: &'a Plan, steps: &[&'a Step]) -> Vec<Read<'a>> {
    let mut reads = Reads {
        found: Vec::new(),
        step: None,
    };
    reads.templates(Site::PlanEnv, plan.env.iter().map(|(_, value)| value));
    for (at, step) in steps.iter().enumerate() {
        reads.step = Some(at);
        step.all_ways().for_each(|way| reads.step(way));
    }
    reads.step = None;
    for check in plan.checks() {
        reads.check(Site::PlanEnd, check);
    }
    let outputs = plan
        .outputs
        .iter()
        .map(|(_, output)| &output.value.value.value);
    reads.templates(Site::PlanEnd, outputs);
    reads.found
}

struct Reads<'a> {
    found: Vec<Read<'a>>,
    step: Option<usize>,
}

impl<'a> Reads<'a> {
    fn add(&mut self, site: Site, refs: &'a [SpannedRef]) {
        let step = self.step;
        self.found
            .extend(refs.iter().map(|what| Read { what, step, site }));
    }

    fn templates(&mut self, site: Site, templates: impl Iterator<Item = &'a Template>) {
        for template in templates {
            self.add(site, template.refs());
        }
    }

    fn step(&mut self, step: &'a Step) {
        if let Some(when) = &step.when {
            self.add(Site::When, when.refs());
        }
        if let Some(ForEach::Computed(list)) = step.for_each.as_ref().map(|each| &each.value) {
            self.add(Site::ForEach, list.refs());
        }
        let argv = step.exec.iter().flat_map(|argv| &argv.value);
        self.templates(Site::Argument, argv.map(|argument| &argument.value));
        let given = step
            .skill
            .iter()
            .filter_map(|used| used.value.args.as_ref());
        self.templates(Site::Argument, given.flat_map(SkillArgs::templates));
        if let Some(http) = &step.http {
            self.templates(Site::Url, std::iter::once(&http.url.value));
            let headers = http.headers.iter().map(|(_, value)| value);
            self.templates(Site::Request, headers.chain(&http.body));
        }
        self.templates(
            Site::With,
            step.with.iter().map(|(_, value)| &value.value.0),
        );
        let file = step.wait.iter().filter_map(|wait| wait.file.as_ref());
        self.templates(Site::File, file.map(|file| &file.value));
        if let Some(approve) = &step.approve {
            let shown = approve.show.iter().map(|(_, value)| &value.value);
            let asked = std::iter::once(&approve.message.value);
            self.templates(Site::Approve, asked.chain(shown));
        }
        let kept = step.cache.iter().flat_map(|cache| &cache.outputs);
        self.templates(Site::Cache, kept.map(|glob| &glob.value));
        let left = step.artifacts.iter().chain(&step.writes);
        self.templates(Site::Artifact, left.map(|glob| &glob.value));
        self.templates(Site::Cwd, step.cwd.iter().map(|cwd| &cwd.value));
        self.templates(Site::Env, step.env.iter().map(|(_, value)| value));
        for check in step.checks() {
            self.check(Site::Check, check);
        }
    }

    fn check(&mut self, site: Site, check: &'a Check) {
        self.templates(site, check.exec.iter().flat_map(|argv| &argv.value));
        self.templates(site, check.env.iter().map(|(_, value)| value));
    }
}
