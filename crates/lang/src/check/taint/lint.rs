use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use super::{
    bound::{is_blunt, part_of},
    site::{self, TaintSink},
};
use crate::{
    LoadedSpec, PlanDefaults,
    ast::{self, ForEachSpec, GateProviderKind, GateRef, GateSpec, PredicateKind, StepSpec},
    decode::{ArgumentTemplate, OrderedEntries},
    lower,
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::{SourceText, Span, Spanned},
};
use wf_model::{
    OnStepFailure, Plan, PlanPolicy, ReplanSettings, StepWork, SuggestionLimits,
    expr::{ExprReference, PathKey, Template},
    taint::{MixedTaint, TaintAnalysis, TaintLevel, TaintSummary},
};

/// Returns the warnings, each with the index of its file. Files with mistakes have none.
pub(in crate::check) fn check_taint(loaded: &LoadedSpec) -> Vec<(usize, Diagnostic)> {
    if !reads_anything(loaded) {
        return Vec::new();
    }
    let Ok(plan) = lower(loaded, &defaults()) else {
        return Vec::new();
    };
    let mut lint = TaintLint {
        loaded,
        taints: TaintAnalysis::default(),
        blunt_schemas: HashMap::new(),
        summaries: BTreeMap::new(),
        diagnostics: Vec::new(),
        reported: BTreeSet::new(),
    };
    lint.file(0, &plan);
    lint.diagnostics
}

/// True if there is any place where a value could do harm: to follow values takes a model of
/// everything, as large as all the files.
fn reads_anything(loaded: &LoadedSpec) -> bool {
    let plans = loaded.plans.iter().zip(&loaded.sources);
    let mut plans = plans.filter_map(|(plan, source)| Some((plan.as_ref()?, source)));
    plans.any(|(plan, source)| {
        let mut own = Vec::new();
        plan.checks().for_each(|check| site::of_check(check, &mut own));
        let mut ways = plan.all_steps().flat_map(StepSpec::with_all_alternatives);
        !own.is_empty()
            || plan.all_gates().next().is_some()
            || ways.any(|way| !site::of_step(way, plan, source).is_empty())
    })
}

/// Returns defaults without influence on the flow of values.
fn defaults() -> PlanDefaults {
    PlanDefaults {
        policy: PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::default(), grace: Duration::ZERO },
        retry: Arc::default(),
        replan: ReplanSettings::default(),
        suggestions: SuggestionLimits::default(),
    }
}

/// The places a parameter reaches, in words.
type ReachedPlaces = BTreeMap<String, String>;

struct TaintLint<'l> {
    loaded: &'l LoadedSpec,
    taints: TaintAnalysis,
    /// True if a schema admits nothing sharp, by its address: many places share one.
    blunt_schemas: HashMap<usize, bool>,
    summaries: BTreeMap<usize, Arc<ReachedPlaces>>,
    diagnostics: Vec<(usize, Diagnostic)>,
    reported: BTreeSet<(usize, Span, Code)>,
}

/// A checked file.
struct LintedFile<'l> {
    file: usize,
    plan: &'l ast::PlanSpec,
    steps: HashMap<&'l str, &'l StepSpec>,
    summary: Arc<TaintSummary>,
}

/// The values given to another plan.
struct GivenArguments<'a> {
    /// The step using the plan; `None`: it undoes the run.
    step: Option<&'a StepSpec>,
    with: &'a OrderedEntries<Name, Spanned<ArgumentTemplate>>,
    /// The path of the plan.
    path: &'a str,
}

impl<'l> TaintLint<'l> {
    /// Checks a file and all it uses, once each.
    fn file(&mut self, file: usize, model: &Plan) -> Arc<ReachedPlaces> {
        if let Some(done) = self.summaries.get(&file) {
            return Arc::clone(done);
        }
        let mut reached = ReachedPlaces::new();
        let written = self.loaded.plans.get(file).and_then(Option::as_ref);
        let source = self.loaded.sources.get(file);
        if let (Some(plan), Some(source)) = (written, source) {
            let linted = LintedFile {
                file,
                plan,
                steps: (plan.all_steps()).map(|step| (step.id.value.as_str(), step)).collect(),
                summary: self.taints.summary_of(model),
            };
            for step in plan.all_steps() {
                for way in step.with_all_alternatives() {
                    for taint_sink in site::of_step(way, plan, source) {
                        self.judge(&linted, Some(step), &taint_sink, &mut reached);
                    }
                    self.nested(&linted, way, model, &mut reached);
                }
                self.gates(&linted, &step.gates);
            }
            let mut own = Vec::new();
            plan.checks().for_each(|check| site::of_check(check, &mut own));
            for sink in own {
                self.judge(&linted, None, &sink, &mut reached);
            }
            self.undo(&linted, model, &mut reached);
            self.gates(&linted, &plan.gates);
        }
        let reached = Arc::new(reached);
        self.summaries.insert(file, Arc::clone(&reached));
        reached
    }

    fn judge(
        &mut self,
        linted: &LintedFile<'l>,
        step: Option<&StepSpec>,
        sink: &TaintSink,
        reached: &mut ReachedPlaces,
    ) {
        if let Some(schema) = self.schema(linted, step, &sink.reference, &sink.path) {
            let place = std::ptr::from_ref(schema).addr();
            let blunt = self.blunt_schemas.entry(place);
            if *blunt.or_insert_with(|| is_blunt(schema)) {
                return;
            }
        }
        let value = linted.value(step, &sink.reference);
        for param in value.params.iter() {
            let place = || sink.place.clone();
            reached.entry(param.clone()).or_insert_with(place);
        }
        // A variable for every step is reported once, however many steps it reaches.
        let key = (linted.file, sink.span, sink.code);
        if let Some(from) = external(&value).filter(|_| self.reported.insert(key)) {
            let path: String = sink.path.iter().map(ToString::to_string).collect();
            let message = format!(
                "untrusted input reaches {}: `{}{path}` comes from {from}",
                sink.place, sink.reference
            );
            let mistake = Diagnostic::new(sink.code, sink.span, message).with_help(help(sink.code));
            self.diagnostics.push((linted.file, mistake));
        }
    }

    /// Follows the values given to the plan a step uses.
    fn nested(
        &mut self,
        linted: &LintedFile<'l>,
        step: &'l StepSpec,
        plan: &Plan,
        reached: &mut ReachedPlaces,
    ) {
        let Some(file) = self.loaded.used(linted.file, step) else {
            return;
        };
        let Some(own) = plan.find(step.id.value.as_str()) else {
            return;
        };
        let own = plan.step(own);
        let path = self.loaded.sources.get(file).map(SourceText::path);
        let uses = own.ways().find_map(|way| match &way.work {
            StepWork::Uses(uses) if Some(uses.path.as_str()) == path => Some(uses),
            _ => None,
        });
        let Some(uses) = uses else { return };
        let inner = self.file(file, &uses.plan);
        let arguments = GivenArguments { step: Some(step), with: &step.with, path: &uses.path };
        self.arguments(linted, &arguments, &inner, reached);
    }

    /// Follows the values given to the plan undoing a run.
    fn undo(&mut self, linted: &LintedFile<'l>, plan: &Plan, reached: &mut ReachedPlaces) {
        let (Some(written), Some(undo)) = (linted.plan.undo_step(), &plan.parts().undo) else {
            return;
        };
        let Some(file) = self.loaded.used(linted.file, written) else {
            return;
        };
        let inner = self.file(file, &undo.nested.plan);
        let arguments = GivenArguments { step: None, with: &written.with, path: &undo.nested.path };
        self.arguments(linted, &arguments, &inner, reached);
    }

    /// Follows values to the places the parameters of another plan reach.
    fn arguments(
        &mut self,
        linted: &LintedFile<'l>,
        given_arguments: &GivenArguments<'_>,
        inner: &ReachedPlaces,
        reached: &mut ReachedPlaces,
    ) {
        for (name, value) in given_arguments.with.iter() {
            let Some(place) = inner.get(name.value.as_str()) else {
                continue;
            };
            let template: &Template = &value.value.0;
            for read in template.refs() {
                let site = TaintSink {
                    reference: read.name.clone(),
                    path: read.path.clone(),
                    span: read.span,
                    code: Code::TaintSpec,
                    place: format!("{place} of {}", given_arguments.path),
                };
                self.judge(linted, given_arguments.step, &site, reached);
            }
        }
    }

    /// Follows the values that gates decide by.
    fn gates(&mut self, linted: &LintedFile<'l>, gates: &'l [GateRef]) {
        for named in gates {
            let gate = self.loaded.gate(linted.file, named);
            let Some((_, gate)) = gate.filter(|(_, gate)| decides(gate)) else {
                continue;
            };
            let Some(extract) = &gate.extract else {
                continue;
            };
            let Some(name) = read_by(&extract.value.0) else {
                continue;
            };
            let value = linted.value(None, &name);
            let Some(from) = external(&value) else {
                continue;
            };
            let span = match named {
                GateRef::Named(id) => id.span,
                GateRef::Inline(_) => extract.span,
            };
            let id = &gate.id.value;
            let message = format!("gate `{id}` is decided by untrusted input: `{name}` comes from {from}");
            let mistake = Diagnostic::new(Code::TaintGate, span, message);
            self.diagnostics.push((linted.file, mistake.with_help(help(Code::TaintGate))));
        }
    }

    /// Returns the schema of a part of a name's value, if it is known: `item` has the one of the items of its
    /// step, and each output of a repeated step is a list.
    fn schema(
        &self,
        linted: &LintedFile<'l>,
        step: Option<&StepSpec>,
        reference: &ExprReference,
        path: &[PathKey],
    ) -> Option<&'l Value> {
        match reference {
            ExprReference::Item => {
                let ForEachSpec::Computed(list) = &step?.for_each.as_ref()?.value else {
                    return None;
                };
                let list = list.lookup()?;
                let of_item = list.path.iter().chain([&PathKey::Index(0)]).chain(path);
                let item_path: Vec<PathKey> = of_item.cloned().collect();
                self.schema(linted, None, &list.name, &item_path)
            }
            ExprReference::Param(name) => {
                let mut params = linted.plan.params.iter();
                let param = params.find(|(own, _)| own.value.as_str() == name)?;
                part_of(param.1.schema.text(), path)
            }
            ExprReference::Output { step, output } => {
                let step = *linted.steps.get(step.as_str())?;
                let schema = self.output_schema(linted, step, output)?;
                match path {
                    _ if step.for_each.is_none() && step.matrix.is_none() => part_of(schema, path),
                    // A list is as harmless as each of its items.
                    [] => Some(schema),
                    [PathKey::Index(_), path @ ..] => part_of(schema, path),
                    [PathKey::Field(_), ..] => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the schema of an output of a step, or of the plan it uses.
    fn output_schema(&self, linted: &LintedFile<'l>, step: &'l StepSpec, output: &str) -> Option<&'l Value> {
        let mut own = step.outputs.iter();
        if let Some((_, own)) = own.find(|(own, _)| own.value.as_str() == output) {
            return Some(own.schema.text());
        }
        let used = self.loaded.used(linted.file, step)?;
        let used = self.loaded.plans.get(used)?.as_ref()?;
        let mut outputs = used.outputs.iter();
        let entry = outputs.find(|(own, _)| own.value.as_str() == output)?;
        Some(entry.1.value.schema.text())
    }
}

impl LintedFile<'_> {
    fn value(&self, step: Option<&StepSpec>, reference: &ExprReference) -> MixedTaint {
        let step = step.and_then(|step| self.summary.steps.get(step.id.value.as_str()));
        self.summary.value(step, reference)
    }
}

/// Returns the source of a value, if it is external.
fn external(value: &MixedTaint) -> Option<&str> {
    let from = value.from.as_deref().unwrap_or("outside");
    (value.taint == TaintLevel::External).then_some(from)
}

fn decides(gate: &GateSpec) -> bool {
    let always = gate.check.as_ref().map(|word| word.value) == Some(PredicateKind::ApprovalAlways);
    gate.provider.value == GateProviderKind::Predicate && !always
}

/// Returns the parameter or output a path into the context of a gate leads to.
fn read_by(path: &str) -> Option<ExprReference> {
    let mut words = path.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut word = || words.find(|word| !word.is_empty());
    match word()? {
        "params" => Some(ExprReference::Param(word()?.to_owned())),
        "steps" => {
            let step = word()?.to_owned();
            let output = word().filter(|word| *word == "outputs").and_then(|_| word())?;
            Some(ExprReference::Output { step, output: output.to_owned() })
        }
        _ => None,
    }
}

/// Returns the remedy.
fn help(code: Code) -> &'static str {
    match code {
        Code::TaintShell => {
            "in quotes (\"$NAME\") it stays text there; restrict it by its schema (a number, an \
             `enum`, a `pattern` from ^ to $, or a list or closed object of such), or have it reviewed first: \
             `approve` with `show`"
        }
        Code::TaintGate => {
            "the sender of the value controls the decision of the gate: decide by a trusted value, \
             or have it reviewed first: `approve` with `show`"
        }
        Code::TaintPlan => {
            "such a text is refused: have it reviewed first (`approve` with `show`), or allow it with \
             `within: {untrusted: true}`"
        }
        _ => {
            "restrict it by its schema (a number, an `enum`, a `pattern` from ^ to $, or a list or closed object \
             of such), or have it reviewed first: `approve` with `show`"
        }
    }
}
