use std::collections::{BTreeSet, HashMap};

use super::{ExprRead, reads};
use crate::{
    LoadedSpec,
    ast::{PlanSpec, StepSpec},
};
use wf_base::source::{SourceText, Spanned};
use wf_model::graph::StepGraph;

/// One file as seen by the rules.
pub(super) struct RuleContext<'a> {
    pub(super) loaded: &'a LoadedSpec,
    pub(super) file: usize,
    pub(super) source: &'a SourceText,
    pub(super) plan: &'a PlanSpec,
    /// The main steps, then the `finally` steps.
    pub(super) steps: Vec<&'a StepSpec>,
    /// The number of main steps among them.
    pub(super) main: usize,
    /// The place of each step by its id; of several with the same id, the first.
    index: HashMap<&'a str, usize>,
    /// The dependencies of the main steps.
    pub(super) graph: StepGraph,
    /// Everything read by expressions.
    pub(super) reads: Vec<ExprRead<'a>>,
    /// Words that may have been declared and dropped because of another mistake; `None` where
    /// there is no other mistake.
    dropped_keys: Option<BTreeSet<&'a str>>,
}

impl<'a> RuleContext<'a> {
    /// Builds the scene; `None` if too little of the file could be read.
    pub(super) fn new(loaded: &'a LoadedSpec, file: usize) -> Option<Self> {
        let plan = loaded.plans.get(file)?.as_ref()?;
        let source = loaded.sources.get(file)?;
        let steps: Vec<&StepSpec> = plan.all_steps().collect();
        let mut index = HashMap::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            index.entry(step.id.value.as_str()).or_insert(at);
        }
        let main = plan.steps().len();
        let needs = plan.steps().iter().map(|step| {
            let places = step.depends_on.iter();
            let places = places.filter_map(|id| index.get(id.value.as_str()).copied());
            places.filter(|at| *at < main).collect()
        });
        Some(Self {
            loaded,
            file,
            source,
            plan,
            graph: StepGraph::new(needs.collect()),
            reads: reads::reads_of_plan(plan, &steps),
            main,
            index,
            dropped_keys: (!loaded.is_whole(file)).then(|| keys(source.text())),
            steps,
        })
    }

    /// Returns all steps, each as written and with each of its alternatives.
    pub(super) fn ways(&self) -> impl Iterator<Item = &'a StepSpec> {
        self.steps.iter().flat_map(|step| step.with_all_alternatives())
    }

    /// True if no two steps have the same id.
    pub(super) fn ids_differ(&self) -> bool {
        self.index.len() == self.steps.len()
    }

    /// The place of a step.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// A step by its place.
    pub(super) fn step(&self, at: usize) -> &'a StepSpec {
        self.steps[at]
    }

    /// The id of a step.
    pub(super) fn id(&self, at: usize) -> &'a str {
        self.step(at).id.value.as_str()
    }

    /// True if a step belongs to `finally`.
    pub(super) fn is_finally(&self, at: usize) -> bool {
        at >= self.main
    }

    /// True if a name that is not found is missing, rather than dropped because of another mistake
    /// in it.
    pub(super) fn is_absent(&self, name: &str) -> bool {
        self.dropped_keys.as_ref().is_none_or(|words| !words.contains(name))
    }

    /// True if there are other mistakes, so a use may have been dropped.
    pub(super) fn may_hide_uses(&self) -> bool {
        self.dropped_keys.is_some()
    }

    /// The plan a step uses, if it uses one that could be read, with its file.
    pub(super) fn used(&self, step: &StepSpec) -> Option<(usize, &'a PlanSpec)> {
        let file = self.loaded.used(self.file, step)?;
        let plan = self.loaded.plans.get(file)?.as_ref()?;
        Some((file, plan))
    }

    /// Returns the plans a step uses or may start, each with the path naming it, as far as they could be read.
    pub(super) fn all_used(
        &self,
        step: &'a StepSpec,
    ) -> impl Iterator<Item = (&'a Spanned<String>, usize, &'a PlanSpec)> {
        let (loaded, from) = (self.loaded, self.file);
        step.used_paths().filter_map(move |path| {
            let file = loaded.file_at(from, path)?;
            Some((path, file, loaded.plans.get(file)?.as_ref()?))
        })
    }
}

/// Returns the keys and `id`s of a text.
fn keys(text: &str) -> BTreeSet<&str> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = BTreeSet::new();
    let mut before = "";
    for part in text.split_inclusive(|c| !in_word(c)) {
        let word = part.trim_end_matches(|c| !in_word(c));
        if word.is_empty() {
            continue;
        }
        if part.ends_with(':') || before == "id" {
            words.insert(word);
        }
        before = word;
    }
    words
}
