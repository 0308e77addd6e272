use std::collections::BTreeMap;

use super::{
    LoadedSpec,
    ast::{GateRef, PlanSpec, StepSpec},
    document,
    document::SpecDocument,
    files::{FileReadError, SpecFileSource},
    loaded,
    loaded::{GATES, gate_path},
    skills::{self, LoadedSkill, SKILL_FILE},
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    name::{GateId, SkillName},
    source::{SourceText, Span, Spanned},
};

/// The maximum number of files one load may read.
pub const MAX_FILES: usize = 1000;
/// The maximum depth to which plans may use each other.
pub const MAX_USES: usize = 32;

/// Loads a spec file and all it uses. Each file is read once. The path, and all paths in the
/// result, are relative to the workspace.
pub fn load(files: &dyn SpecFileSource, path: &str) -> LoadedSpec {
    load_with(files, path, &[])
}

/// Loads a spec file and all it uses, and the gates of the workspace with it.
pub fn load_with(files: &dyn SpecFileSource, path: &str, system: &[GateId]) -> LoadedSpec {
    let mut loader = SpecLoader { files, loaded: LoadedSpec::default(), open: Vec::new() };
    let path = super::files::join_paths("", path).unwrap_or_else(|| path.to_owned());
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

struct SpecLoader<'f> {
    files: &'f dyn SpecFileSource,
    loaded: LoadedSpec,
    /// The files between the root and the current one.
    open: Vec<usize>,
}

/// The reason why a file is not loaded.
struct FileLoadError {
    code: Code,
    message: String,
    /// True if there is no such file.
    missing: bool,
}

impl From<FileReadError> for FileLoadError {
    fn from(error: FileReadError) -> Self {
        let code = match error {
            FileReadError::TooLarge => Code::FileTooLarge,
            _ => Code::FileUnreadable,
        };
        Self { code, message: error.to_string(), missing: matches!(error, FileReadError::Missing) }
    }
}

impl SpecLoader<'_> {
    /// Reads one file and notes its mistakes; returns its index.
    fn read(&mut self, path: &str) -> Result<usize, FileLoadError> {
        let text = text(self.files.read(path)?)?;
        let index = self.loaded.sources.len();
        let source = SourceText::new(path, text);
        let (spec, mistakes) = document::read_document(&source);
        let mistakes = mistakes.into_iter().map(|mistake| (index, mistake));
        self.loaded.diagnostics.extend(mistakes);
        self.loaded.sources.push(source);
        let mut own = None;
        match spec {
            Some(SpecDocument::Plan(plan)) => own = Some(*plan),
            Some(SpecDocument::Goal(goal, plan)) => {
                self.loaded.goals.insert(index, *goal);
                own = Some(*plan);
            }
            Some(SpecDocument::Persona(file)) => drop(self.loaded.personas.insert(index, *file)),
            Some(SpecDocument::Gate(gate)) => drop(self.loaded.gates.insert(index, *gate)),
            None => {}
        }
        self.loaded.plans.push(own);
        self.loaded.index.insert(path.to_owned(), index);
        Ok(index)
    }

    fn refuse_root(&mut self, path: &str, error: &FileLoadError) {
        let mistake = Diagnostic::new(error.code, Span::default(), &error.message);
        self.loaded.sources.push(SourceText::new(path, ""));
        self.loaded.plans.push(None);
        self.loaded.diagnostics.push((0, mistake));
    }

    /// Loads the files a file uses, recursively.
    fn follow(&mut self, file: usize) {
        self.open.push(file);
        for named in names(self.loaded.plans.get(file)) {
            if let Err(mistake) = self.load_gate(&named) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        self.skills(file);
        for used in personas(self.loaded.plans.get(file)) {
            if let Err(mistake) = self.load_persona(file, &used) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        for used in uses(self.loaded.plans.get(file)) {
            if let Err(mistake) = self.load_used(file, &used) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        let missing = loaded::missing_suggested_plans(&self.loaded, self.files, file);
        self.loaded.diagnostics.extend(missing.into_iter().map(|mistake| (file, mistake)));
        self.open.pop();
    }

    /// Loads the skills a plan names, and completes the steps running their scripts.
    fn skills(&mut self, file: usize) {
        let plan = self.loaded.plans.get(file).and_then(Option::as_ref);
        for name in plan.map(skills::named).unwrap_or_default() {
            if let Err(mistake) = self.load_skill(&name) {
                self.loaded.diagnostics.push((file, *mistake));
            }
        }
        let skills = &self.loaded.skills;
        if let Some(Some(plan)) = self.loaded.plans.get_mut(file) {
            skills::complete(plan, |name| skills.values().find(|skill| skill.name == *name));
        }
    }

    fn load_skill(&mut self, named: &Spanned<SkillName>) -> Result<(), Box<Diagnostic>> {
        let name = &named.value;
        let refuse = |reason: &str| {
            let message = format!("cannot load the skill `{name}`: {reason}");
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
            return Err(refuse("a symlink leads out of the workspace"));
        }
        let text = bytes.map_err(FileLoadError::from).and_then(text);
        let text = text.map_err(|refusal| refuse(&format!("{path}: {}", refusal.message)))?;
        let index = self.loaded.sources.len();
        let source = SourceText::new(path.as_str(), text);
        let (skill, mistakes) = skills::read(&source, name);
        let mistakes = mistakes.into_iter().map(|mistake| (index, mistake));
        self.loaded.diagnostics.extend(mistakes);
        self.loaded.sources.push(source);
        self.loaded.plans.push(None);
        self.loaded.index.insert(path, index);
        if let Some((skill, own)) = skill {
            let name = name.clone();
            let scripts = self.files.names(&format!("{folder}/scripts"));
            let loaded = LoadedSkill { name, folder, skill, extension: own, scripts };
            self.loaded.skills.insert(index, loaded);
        }
        Ok(())
    }

    fn load_used(&mut self, file: usize, used: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let refuse = |reason: &str| {
            let message = format!("cannot use `{}`: {reason}", used.value);
            Box::new(Diagnostic::new(Code::UsesUnreadable, used.span, message))
        };
        let Some(path) = self.loaded.resolve(file, &used.value) else {
            return Err(refuse("the path is outside the workspace"));
        };
        if let Some(index) = self.loaded.index.get(&path) {
            return self.circle(*index, used);
        }
        if self.loaded.sources.len() >= MAX_FILES {
            return Err(refuse(&format!("more than {MAX_FILES} files are used")));
        }
        if self.open.len() > MAX_USES {
            return Err(refuse(&format!("plans are nested more than {MAX_USES} deep")));
        }
        // A plan is named by the user, but the files that it uses are named by a file.
        if self.files.leads_out(&path) {
            return Err(refuse("a symlink leads out of the workspace"));
        }
        let read = self.read(&path);
        let next = read.map_err(|refusal| {
            let mistake = *refuse(&refusal.message);
            Box::new(match no_plan(&used.value) {
                Some(help) => mistake.with_help(help),
                None => mistake,
            })
        })?;
        if self.loaded.gates.contains_key(&next) {
            return Err(refuse("it is a gate, not a plan"));
        }
        if self.loaded.personas.contains_key(&next) {
            return Err(refuse("it is a persona, not a plan"));
        }
        if self.loaded.goals.contains_key(&next) {
            let mistake = *refuse("it is a goal, not a plan");
            let help = "a goal runs on its schedule; use the plan that repairs it";
            return Err(Box::new(mistake.with_help(help)));
        }
        self.follow(next);
        Ok(())
    }

    /// Loads the persona an agent has.
    fn load_persona(&mut self, file: usize, named: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let refuse = |reason: &str| {
            let message = format!("cannot load the persona `{}`: {reason}", named.value);
            Box::new(Diagnostic::new(Code::UsesUnreadable, named.span, message))
        };
        let Some(path) = self.loaded.resolve(file, &named.value) else {
            return Err(refuse("the path is outside the workspace"));
        };
        let index = match self.loaded.index.get(&path) {
            Some(position) => *position,
            None if self.loaded.sources.len() >= MAX_FILES => {
                return Err(refuse(&format!("more than {MAX_FILES} files are used")));
            }
            None if self.files.leads_out(&path) => {
                return Err(refuse("a symlink leads out of the workspace"));
            }
            None => self.read(&path).map_err(|refusal| refuse(&refusal.message))?,
        };
        // A file with mistakes has reported them.
        if self.loaded.is_whole(index) && !self.loaded.personas.contains_key(&index) {
            return Err(refuse("it is no persona: write `kind: persona` in it"));
        }
        Ok(())
    }

    /// Loads the gates of the workspace. One that cannot be loaded is a mistake of the root: it
    /// must not run without.
    fn system(&mut self, gates: &[GateId]) {
        for id in gates {
            match self.load_gate(&Spanned::new(id.clone(), Span::default())) {
                Ok(file) => self.loaded.system.push(file),
                Err(mistake) => {
                    let message = format!("workspace gate: {}", mistake.message);
                    let mistake = Diagnostic { message, ..*mistake };
                    self.loaded.diagnostics.push((0, mistake));
                }
            }
        }
    }

    /// Loads the file of a gate, and the plans its escalations start; returns its index.
    fn load_gate(&mut self, named: &Spanned<GateId>) -> Result<usize, Box<Diagnostic>> {
        let path = gate_path(&named.value);
        let refuse = |reason: &str| {
            let message = format!("cannot load the gate `{}`: {reason}", named.value);
            Box::new(Diagnostic::new(Code::UnknownGate, named.span, message))
        };
        if let Some(index) = self.loaded.index.get(&path) {
            return Ok(*index);
        }
        if self.loaded.sources.len() >= MAX_FILES {
            return Err(refuse(&format!("more than {MAX_FILES} files are used")));
        }
        if self.files.leads_out(&path) {
            return Err(refuse("a symlink leads out of the workspace"));
        }
        match self.read(&path) {
            Ok(file) => {
                if self.loaded.personas.contains_key(&file) {
                    return Err(refuse(&format!("{path} is a persona, not a gate")));
                }
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

    /// Fails if a file uses itself: if it is still being read.
    fn circle(&self, index: usize, used: &Spanned<String>) -> Result<(), Box<Diagnostic>> {
        let Some(start) = self.open.iter().position(|open| *open == index) else {
            return Ok(());
        };
        let members = self.open.iter().skip(start).chain([&index]);
        let paths: Vec<_> = members
            .filter_map(|file| Some(format!("`{}`", self.loaded.sources.get(*file)?.path())))
            .collect();
        let message = format!("a plan uses itself: {}", paths.join(" uses "));
        Err(Box::new(Diagnostic::new(Code::UsesCycle, used.span, message)))
    }
}

/// Returns advice for a used path without the file of a plan.
fn no_plan(used: &str) -> Option<&'static str> {
    if used.contains("checkout@") {
        Some("remove the step: steps already run in the workspace")
    } else if used.contains('@') || used.contains("://") {
        Some("actions are not supported: put the commands into `run`")
    } else if !used.contains('.') {
        Some("`uses` takes the path of a plan, relative to this file: `uses: other.md`")
    } else {
        None
    }
}

/// Returns the mistake of naming a missing gate.
pub fn no_gate(named: &Spanned<GateId>, files: &dyn SpecFileSource) -> Diagnostic {
    let id = &named.value;
    let message = format!("gate `{id}` not found");
    let mistake = Diagnostic::new(Code::UnknownGate, named.span, message);
    let names = files.names(GATES);
    let gates = names.iter().filter_map(|name| name.strip_suffix(".md"));
    match nearest(id.as_str(), gates) {
        Some(near) => mistake.with_suggestion(Some(near)),
        None => mistake.with_help(format!("a gate is a file: write {}", gate_path(id))),
    }
}

/// Returns the gates a plan names, each once, where it is first named.
fn names(plan: Option<&Option<PlanSpec>>) -> Vec<Spanned<GateId>> {
    let mut named: Vec<Spanned<GateId>> = Vec::new();
    for gate in plan.into_iter().flatten().flat_map(PlanSpec::all_gates) {
        if let GateRef::Named(id) = gate
            && named.iter().all(|id_above| id_above.value != id.value)
        {
            named.push(id.clone());
        }
    }
    named
}

/// Returns the files of personas the agents of a plan have, each once.
fn personas(plan: Option<&Option<PlanSpec>>) -> Vec<Spanned<String>> {
    let steps = plan.into_iter().flatten().flat_map(PlanSpec::all_steps);
    let ways = steps.flat_map(StepSpec::with_all_alternatives);
    let mut first: BTreeMap<&str, &Spanned<String>> = BTreeMap::new();
    for named in ways.filter_map(StepSpec::persona_file) {
        first.entry(&named.value).or_insert(named);
    }
    first.into_values().cloned().collect()
}

/// Returns the paths a plan's steps use, and the path of the plan undoing it, each once, at its first location.
fn uses(plan: Option<&Option<PlanSpec>>) -> Vec<Spanned<String>> {
    let mut first = BTreeMap::new();
    let plan = plan.and_then(Option::as_ref);
    let ways = plan.into_iter().flat_map(PlanSpec::all_steps).flat_map(StepSpec::with_all_alternatives);
    for used in ways.chain(plan.and_then(PlanSpec::undo_step)).flat_map(StepSpec::used_paths) {
        first.entry(used.value.clone()).or_insert(used.span);
    }
    let mut uses: Vec<_> = first.into_iter().map(|(path, span)| Spanned::new(path, span)).collect();
    uses.sort_by_key(|used| used.span);
    uses
}

/// Returns the text of a file; the error has its first invalid byte.
fn text(bytes: Vec<u8>) -> Result<String, FileLoadError> {
    let refuse = |at: usize| FileLoadError {
        code: Code::FileNotText,
        missing: false,
        message: format!("the file is not UTF-8 text: invalid byte at offset {at}"),
    };
    if let Some(at) = memchr::memchr(0, &bytes) {
        return Err(refuse(at + 1));
    }
    String::from_utf8(bytes).map_err(|error| refuse(error.utf8_error().valid_up_to() + 1))
}
