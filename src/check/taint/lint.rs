use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::bound::is_blunt;
use super::site::{self, Site};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Ref, Template};
use crate::model::taint::{Mixed, Summary, Taint, Taints};
use crate::model::{OnFailure, Plan, Policy, Replan, Schema, Work};
use crate::source::{Source, Span};
use crate::spec::ast::{self, CheckWord, Gate, GateRef, ProviderWord, Step};
use crate::spec::{Defaults, Loaded, lower};

/// What is wrong, each with the index of its file. Nothing is said about files with mistakes.
pub(in crate::check) fn check(loaded: &Loaded) -> Vec<(usize, Diagnostic)> {
    if !reads_anything(loaded) {
        return Vec::new();
    }
    let Ok(plan) = lower(loaded, &defaults()) else {
        return Vec::new();
    };
    let mut lint = Lint {
        loaded,
        taints: Taints::default(),
        blunt: HashMap::new(),
        done: BTreeMap::new(),
        found: Vec::new(),
        told: BTreeSet::new(),
    };
    lint.file(0, &plan);
    lint.found
}

/// Whether there is a place at all in which a value could do harm: to follow values takes a model
/// of everything, which is as large as all that was read.
fn reads_anything(loaded: &Loaded) -> bool {
    let plans = loaded.plans.iter().zip(&loaded.sources);
    let mut plans = plans.filter_map(|(plan, source)| Some((plan.as_ref()?, source)));
    plans.any(|(plan, source)| {
        let mut own = Vec::new();
        plan.checks()
            .for_each(|check| site::of_check(check, &mut own));
        let mut ways = plan.all_steps().flat_map(Step::all_ways);
        !own.is_empty()
            || plan.all_gates().next().is_some()
            || ways.any(|way| !site::of_step(way, plan, source).is_empty())
    })
}

/// What decides nothing about where values go.
fn defaults() -> Defaults {
    Defaults {
        policy: Policy {
            max_parallel: 1,
            on_failure: OnFailure::default(),
            grace: Duration::ZERO,
        },
        retry: Arc::default(),
        replan: Replan::default(),
    }
}

/// The places that a parameter reaches, in words.
type Reached = BTreeMap<String, String>;

struct Lint<'l> {
    loaded: &'l Loaded,
    taints: Taints,
    /// Whether a schema lets nothing sharp through, by where it is: many places share one.
    blunt: HashMap<usize, bool>,
    done: BTreeMap<usize, Arc<Reached>>,
    found: Vec<(usize, Diagnostic)>,
    told: BTreeSet<(usize, Span, Code)>,
}

/// A file that is looked at.
struct View<'l> {
    file: usize,
    plan: &'l ast::Plan,
    steps: HashMap<&'l str, &'l Step>,
    summary: Arc<Summary>,
}

impl<'l> Lint<'l> {
    /// Looks at a file and at all that it uses, once each.
    fn file(&mut self, file: usize, model: &Plan) -> Arc<Reached> {
        if let Some(done) = self.done.get(&file) {
            return Arc::clone(done);
        }
        let mut reached = Reached::new();
        let written = self.loaded.plans.get(file).and_then(Option::as_ref);
        let source = self.loaded.sources.get(file);
        if let (Some(plan), Some(source)) = (written, source) {
            let view = View {
                file,
                plan,
                steps: (plan.all_steps())
                    .map(|step| (step.id.value.as_str(), step))
                    .collect(),
                summary: self.taints.of(model),
            };
            for step in plan.all_steps() {
                for way in step.all_ways() {
                    for found in site::of_step(way, plan, source) {
                        self.judge(&view, Some(step), &found, &mut reached);
                    }
                    self.nested(&view, way, model, &mut reached);
                }
                self.gates(&view, &step.gates);
            }
            let mut own = Vec::new();
            plan.checks()
                .for_each(|check| site::of_check(check, &mut own));
            for found in own {
                self.judge(&view, None, &found, &mut reached);
            }
            self.gates(&view, &plan.gates);
        }
        let reached = Arc::new(reached);
        self.done.insert(file, Arc::clone(&reached));
        reached
    }

    fn judge(&mut self, view: &View<'l>, step: Option<&Step>, site: &Site, reached: &mut Reached) {
        if let Some(schema) = self.schema(view, &site.name) {
            let place = std::ptr::from_ref(schema.text()).addr();
            let blunt = self.blunt.entry(place);
            if *blunt.or_insert_with(|| is_blunt(schema)) {
                return;
            }
        }
        let value = view.value(step, &site.name);
        for param in value.params.iter() {
            let place = || site.place.clone();
            reached.entry(param.clone()).or_insert_with(place);
        }
        // A variable for every step is read once, however many steps it reaches.
        let told = (view.file, site.span, site.code);
        if let Some(from) = external(&value).filter(|_| self.told.insert(told)) {
            let message = format!(
                "an external value reaches {}: `{}` comes from {from}",
                site.place, site.name
            );
            let mistake = Diagnostic::new(site.code, site.span, message).help(help(site.code));
            self.found.push((view.file, mistake));
        }
    }

    /// The values that the plan a step uses is given.
    fn nested(&mut self, view: &View<'l>, step: &'l Step, model: &Plan, reached: &mut Reached) {
        let Some(file) = self.loaded.used(view.file, step) else {
            return;
        };
        let Some(own) = model.find(step.id.value.as_str()) else {
            return;
        };
        let own = model.step(own);
        let path = self.loaded.sources.get(file).map(Source::path);
        let mut ways = (0..own.ways()).filter_map(|way| own.way(way));
        let uses = ways.find_map(|way| match &way.work {
            Work::Uses(uses) if Some(uses.path.as_str()) == path => Some(uses),
            _ => None,
        });
        let Some(uses) = uses else { return };
        let inner = self.file(file, &uses.plan);
        for (name, value) in step.with.iter() {
            let Some(place) = inner.get(name.value.as_str()) else {
                continue;
            };
            let template: &Template = &value.value.0;
            for read in template.refs() {
                let site = Site {
                    name: read.name.clone(),
                    span: read.span,
                    code: Code::TaintSpec,
                    place: format!("{place} of {}", uses.path),
                };
                self.judge(view, Some(step), &site, reached);
            }
        }
    }

    /// The values that gates decide by.
    fn gates(&mut self, view: &View<'l>, gates: &'l [GateRef]) {
        for named in gates {
            let gate = self.loaded.gate(view.file, named);
            let Some((_, gate)) = gate.filter(|(_, gate)| decides(gate)) else {
                continue;
            };
            let Some(extract) = &gate.extract else {
                continue;
            };
            let Some(name) = read_by(&extract.value.0) else {
                continue;
            };
            let value = view.value(None, &name);
            let Some(from) = external(&value) else {
                continue;
            };
            let span = match named {
                GateRef::Named(id) => id.span,
                GateRef::Inline(_) => extract.span,
            };
            let id = &gate.id.value;
            let message =
                format!("gate `{id}` decides by an external value: `{name}` comes from {from}");
            let mistake = Diagnostic::new(Code::TaintGate, span, message);
            self.found
                .push((view.file, mistake.help(help(Code::TaintGate))));
        }
    }

    /// What the value of a name satisfies, if that is known.
    fn schema(&self, view: &View<'l>, name: &Ref) -> Option<&'l Schema> {
        match name {
            Ref::Param(name) => {
                let mut params = view.plan.params.iter();
                let param = params.find(|(own, _)| own.value.as_str() == name)?;
                Some(&param.1.schema)
            }
            Ref::Output { step, output } => {
                let step = *view.steps.get(step.as_str())?;
                let mut own = step.outputs.iter();
                if let Some((_, own)) = own.find(|(own, _)| own.value.as_str() == output) {
                    return Some(&own.schema);
                }
                let used = self.loaded.used(view.file, step)?;
                let used = self.loaded.plans.get(used)?.as_ref()?;
                let mut outputs = used.outputs.iter();
                let given = outputs.find(|(own, _)| own.value.as_str() == output)?;
                Some(&given.1.value.schema)
            }
            _ => None,
        }
    }
}

impl View<'_> {
    fn value(&self, step: Option<&Step>, name: &Ref) -> Mixed {
        let step = step.and_then(|step| self.summary.steps.get(step.id.value.as_str()));
        self.summary.value(step, name)
    }
}

/// Where a value comes from, if it is external.
fn external(value: &Mixed) -> Option<&str> {
    let from = value.from.as_deref().unwrap_or("outside");
    (value.taint == Taint::External).then_some(from)
}

/// Whether a gate lets pass or blocks by a value.
fn decides(gate: &Gate) -> bool {
    let always = gate.check.as_ref().map(|word| word.value) == Some(CheckWord::ApprovalAlways);
    gate.provider.value == ProviderWord::Predicate && !always
}

/// The parameter or output that a path into the context of a gate leads to.
fn read_by(path: &str) -> Option<Ref> {
    let mut words = path.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut word = || words.find(|word| !word.is_empty());
    match word()? {
        "params" => Some(Ref::Param(word()?.to_owned())),
        "steps" => {
            let step = word()?.to_owned();
            let output = word()
                .filter(|word| *word == "outputs")
                .and_then(|_| word())?;
            Some(Ref::Output {
                step,
                output: output.to_owned(),
            })
        }
        _ => None,
    }
}

/// What to do about it.
fn help(code: Code) -> &'static str {
    match code {
        Code::TaintShell => {
            "in quotes (\"$NAME\") it stays text there; say in its schema what it may be (a number, an \
             `enum`, a `pattern` from ^ to $), or let people see it first: `approve` with `show`"
        }
        Code::TaintGate => {
            "who gives the value chooses what the gate says: decide by a value of the owner, or let \
             people see it first: `approve` with `show`"
        }
        _ => {
            "say in its schema what it may be (a number, an `enum`, a `pattern` from ^ to $), or let \
             people see it first: `approve` with `show`"
        }
    }
}
