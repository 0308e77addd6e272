use std::collections::BTreeMap;

use super::ast::{Escalation, Gate, GateRef, Plan};
use super::document::Spec;
use super::files::{Files, Unreadable};
use super::loaded::{GATES, gate_path};
use super::skills::{self, LoadedSkill, SKILL_FILE};
use super::{Loaded, document};
use crate::diag::{Code, Diagnostic, nearest};
use crate::name::{GateId, SkillName};
use crate::source::{Source, Span, Spanned};

/// How many files one load may read, and how deep they may use each other.
pub const MAX_FILES: usize = 1000;
/// How deep plans may use each other.
pub const MAX_USES: usize = 32;

/// Loads a spec file and all that it uses. Each file is read once. The path, and all paths in the
/// result, are relative to the workspace.
pub fn load(files: &dyn Files, path: &str) -> Loaded {
    load_with(files, path, &[])
}

/// Loads a spec file and all that it uses, and the gates of the workspace with it.
pub fn load_with(files: &dyn Files, path: &str, system: &[GateId]) -> Loaded {
    let mut loader = Loader {
        files,
        loaded: Loaded::default(),
        open: Vec::new(),
    };
    let path = super::path::join("", path).unwrap_or_else(|| path.to_owned());
    match loader.read(&path) {
        Ok(root) => {
            loader.system(system);
            loader.follow(root);
        }
        Err(refusal) => loader.refuse_root(&path, &refusal),
    }
    loader.loaded.sort();
    loader.loaded
}

struct Loader<'f> {
    files: &'f dyn Files,
    loaded: Loaded,
    /// The files between the root and the one being read.
    open: Vec<usize>,
}

/// Why a file is not loaded.
struct Refusal {
    code: Code,
    message: String,
    /// Whether there is no such file.
    missing: bool,
}

impl From<Unreadable> for Refusal {
    fn from(error: Unreadable) -> Self {
        let code = match error {
            Unreadable::TooLarge => Code::FileTooLarge,
            _ => Code::FileUnreadable,
        };
        Self {
            code,
            message: error.to_string(),
            missing: matches!(error, Unreadable::Missing),
        }
    }
}

impl Loader<'_> {
    /// Reads one file and what is wrong with it; gives its index.
    fn read(&mut self, path: &str) -> Result<usize, Refusal> {
        let text = text(self.files.read(path)?)?;
        let index = self.loaded.sources.len();
        let source = Source::new(path, text);
        let (spec, mistakes) = document::read(&source);
        let mistakes = mistakes.into_iter().map(|mistake| (index, mistake));
        self.loaded.diagnostics.extend(mistakes);
        self.loaded.sources.push(source);
        let mut own = None;
        match spec {
            Some(Spec::Plan(plan)) => own = Some(*plan),
            Some(Spec::Goal(goal, plan)) => {
                self.loaded.goals.insert(index, *goal);
                own = Some(*plan);
            }
            Some(Spec::Gate(gate)) => drop(self.loaded.gates.insert(index, *gate)),
            None => {}
        }
        self.loaded.plans.push(own);
        self.loaded.index.insert(path.to_owned(), index);
        Ok(index)
    }

    fn refuse_root(&mut self, path: &str, refusal: &Refusal) {
        let mistake = Diagnostic::new(refusal.code, Span::default(), &refusal.message);
        self.loaded.sources.push(Source::new(path, ""));
        self.loaded.plans.push(None);
        self.loaded.diagnostics.push((0, mistake));
    }

    /// Loads what a file uses, and what that uses.
    fn follow(&mut self, file: usize) {
        self.open.push(file);
        for named in names(self.loaded.plans.get(file)) {
            if let Err(mistake) = self.load_gate(&named) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        self.skills(file);
        for used in uses(self.loaded.plans.get(file), self.loaded.gates.get(&file)) {
            if let Err(mistake) = self.load_used(file, &used) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        self.open.pop();
    }

    /// Loads the skills that a plan names, and completes the steps that run their scripts.
    fn skills(&mut self, file: usize) {
        let plan = self.loaded.plans.get(file).and_then(Option::as_ref);
        for name in plan.map(skills::named).unwrap_or_default() {
            if let Err(mistake) = self.load_skill(&name) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        let known = &self.loaded.skills;
        if let Some(Some(plan)) = self.loaded.plans.get_mut(file) {
            skills::complete(plan, |name| {
                known.values().find(|skill| skill.name == *name)
            });
        }
    }

    fn load_skill(&mut self, named: &Spanned<SkillName>) -> Result<(), Box<Diagnostic>> {
        let name = &named.value;
        let refuse = |why: &str| {
            let message = format!("the skill `{name}` cannot be loaded: {why}");
            Box::new(Diagnostic::new(Code::UnknownSkill, named.span, message))
        };
        let Some((folder, bytes)) = skills::find(self.files, name) else {
            return Err(Box::new(skills::no_skill(named, self.files)));
        };
        let path = format!("{folder}/{SKILL_FILE}");
        if self.loaded.index.contains_key(&path) {
            return Ok(());
        }
        if self.loaded.sources.len() >= MAX_FILES {
            return Err(refuse(&format!("more than {MAX_FILES} files are used")));
        }
        if self.files.leads_out(&path) {
            return Err(refuse("a link leads it out of the workspace"));
        }
        let text = bytes.map_err(Refusal::from).and_then(text);
        let text = text.map_err(|refusal| refuse(&format!("{path}: {}", refusal.message)))?;
        let index = self.loaded.sources.len();
        let source = Source::new(path.as_str(), text);
        let (skill, mistakes) = skills::read(&source, name);
        let mistakes = mistakes.into_iter().map(|mistake| (index, mistake));
        self.loaded.diagnostics.extend(mistakes);
        self.loaded.sources.push(source);
        self.loaded.plans.push(None);
        self.loaded.index.insert(path, index);
        if let Some((skill, own)) = skill {
            let name = name.clone();
            let scripts = self.files.names(&format!("{folder}/scripts"));
            let loaded = LoadedSkill {
                name,
                folder,
                skill,
                own,
                scripts,
            };
            self.loaded.skills.insert(index, loaded);
        }
        Ok(())
    }

    fn load_used(&mut self, file: usize, used: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let refuse = |why: &str| {
            let message = format!("cannot use `{}`: {why}", used.value);
            Box::new(Diagnostic::new(Code::UsesUnreadable, used.span, message))
        };
        let Some(path) = self.loaded.resolve(file, &used.value) else {
            return Err(refuse("the path lies outside the workspace"));
        };
        if let Some(known) = self.loaded.index.get(&path) {
            return self.circle(*known, used);
        }
        if self.loaded.sources.len() >= MAX_FILES {
            return Err(refuse(&format!("more than {MAX_FILES} files are used")));
        }
        if self.open.len() > MAX_USES {
            return Err(refuse(&format!(
                "plans are nested more than {MAX_USES} deep"
            )));
        }
        // A plan is named by a person, but what it uses is named by a file.
        if self.files.leads_out(&path) {
            return Err(refuse("a link leads it out of the workspace"));
        }
        let read = self.read(&path);
        let next = read.map_err(|refusal| {
            let mistake = *refuse(&refusal.message);
            Box::new(match no_plan(&used.value) {
                Some(help) => mistake.help(help),
                None => mistake,
            })
        })?;
        if self.loaded.gates.contains_key(&next) {
            return Err(refuse("it is a gate, not a plan"));
        }
        if self.loaded.goals.contains_key(&next) {
            let mistake = *refuse("it is a goal, not a plan");
            let help = "a goal begins by its schedule; use the plan that repairs it";
            return Err(Box::new(mistake.help(help)));
        }
        self.follow(next);
        Ok(())
    }

    /// Loads the gates of the workspace. One that cannot be loaded is a mistake of the root: it
    /// must not run without.
    fn system(&mut self, gates: &[GateId]) {
        for id in gates {
            match self.load_gate(&Spanned::new(id.clone(), Span::default())) {
                Ok(file) => self.loaded.system.push(file),
                Err(mistake) => {
                    let message = format!("a gate of the workspace: {}", mistake.message);
                    let mistake = Diagnostic {
                        message,
                        ..*mistake
                    };
                    self.loaded.diagnostics.push((0, mistake));
                }
            }
        }
    }

    /// Loads the file of a gate, and the plans that its escalations start; gives its index.
    fn load_gate(&mut self, named: &Spanned<GateId>) -> Result<usize, Box<Diagnostic>> {
        let path = gate_path(&named.value);
        let refuse = |why: &str| {
            let message = format!("the gate `{}` cannot be loaded: {why}", named.value);
            Box::new(Diagnostic::new(Code::UnknownGate, named.span, message))
        };
        if let Some(known) = self.loaded.index.get(&path) {
            return Ok(*known);
        }
        if self.loaded.sources.len() >= MAX_FILES {
            return Err(refuse(&format!("more than {MAX_FILES} files are used")));
        }
        if self.files.leads_out(&path) {
            return Err(refuse("a link leads it out of the workspace"));
        }
        match self.read(&path) {
            Ok(file) => {
                if self.loaded.plans.get(file).is_some_and(Option::is_some) {
                    let is_goal = self.loaded.goals.contains_key(&file);
                    let noun = if is_goal { "goal" } else { "plan" };
                    return Err(refuse(&format!("{path} is a {noun}, not a gate")));
                }
                self.follow(file);
                Ok(file)
            }
            Err(refusal) if refusal.missing => Err(Box::new(no_gate(named, self.files))),
            Err(refusal) => Err(refuse(&format!("{path}: {}", refusal.message))),
        }
    }

    /// The mistake of using a file that is still being read: it uses itself.
    fn circle(&self, known: usize, used: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let Some(start) = self.open.iter().position(|open| *open == known) else {
            return Ok(());
        };
        let members = self.open.iter().skip(start).chain([&known]);
        let paths: Vec<_> = members
            .filter_map(|file| Some(format!("`{}`", self.loaded.sources.get(*file)?.path())))
            .collect();
        let message = format!("a plan uses itself: {}", paths.join(" uses "));
        Err(Box::new(Diagnostic::new(
            Code::UsesCycle,
            used.span,
            message,
        )))
    }
}

/// What to write instead of something used that is no file of a plan.
fn no_plan(used: &str) -> Option<&'static str> {
    if used.contains("checkout@") {
        Some("leave the step out: steps run in the workspace, which is there already")
    } else if used.contains('@') || used.contains("://") {
        Some("what others call an action is no plan: write in `run` what it does")
    } else if !used.contains('.') {
        Some("`uses` takes the file of a plan, relative to this one: `uses: other.md`")
    } else {
        None
    }
}

/// The mistake of naming a gate that is not there.
pub fn no_gate(named: &Spanned<GateId>, files: &dyn Files) -> Diagnostic {
    let id = &named.value;
    let message = format!("there is no gate `{id}`");
    let mistake = Diagnostic::new(Code::UnknownGate, named.span, message);
    let names = files.names(GATES);
    let gates = names.iter().filter_map(|name| name.strip_suffix(".md"));
    match nearest(id.as_str(), gates) {
        Some(near) => mistake.meant(Some(near)),
        None => mistake.help(format!("a gate is a file: write {}", gate_path(id))),
    }
}

/// The gates that a plan names, each once, where it is named first.
fn names(plan: Option<&Option<Plan>>) -> Vec<Spanned<GateId>> {
    let mut named: Vec<Spanned<GateId>> = Vec::new();
    for gate in plan.into_iter().flatten().flat_map(Plan::all_gates) {
        if let GateRef::Named(id) = gate
            && named.iter().all(|known| known.value != id.value)
        {
            named.push(id.clone());
        }
    }
    named
}

/// The paths that a plan's steps use, and those that the escalations of a plan or of a gate
/// start, each once, where it is written first.
fn uses(plan: Option<&Option<Plan>>, gate: Option<&Gate>) -> Vec<Spanned<String>> {
    let mut first = BTreeMap::new();
    let plan = plan.and_then(Option::as_ref);
    let steps = plan.into_iter().flat_map(Plan::all_steps);
    let inline = plan.into_iter().flat_map(Plan::all_gates);
    let inline = inline.filter_map(|gate| match gate {
        GateRef::Inline(gate) => Some(&**gate),
        GateRef::Named(_) => None,
    });
    let own = inline.chain(gate).flat_map(|gate| gate.escalation.iter());
    let escalations = plan.into_iter().flat_map(|plan| plan.escalation.iter());
    let started = escalations.chain(own);
    let started = started.filter_map(|(_, escalation): &(_, Escalation)| escalation.plan.as_ref());
    let ways = steps.flat_map(super::ast::Step::all_ways);
    let used = ways.filter_map(|step| step.uses.as_deref());
    for used in used.chain(started) {
        first.entry(used.value.clone()).or_insert(used.span);
    }
    let mut uses: Vec<_> = first
        .into_iter()
        .map(|(path, span)| Spanned::new(path, span))
        .collect();
    uses.sort_by_key(|used| used.span);
    uses
}

/// The text of a file; the first byte that is none is told.
fn text(bytes: Vec<u8>) -> Result<String, Refusal> {
    let refuse = |at: usize| Refusal {
        code: Code::FileNotText,
        missing: false,
        message: format!("the file is not UTF-8 text: byte {at} is none"),
    };
    if let Some(at) = memchr::memchr(0, &bytes) {
        return Err(refuse(at + 1));
    }
    String::from_utf8(bytes).map_err(|error| refuse(error.utf8_error().valid_up_to() + 1))
}
