//! The plans the runs of a plan may suggest. They are not loaded: a person starts one as it is by then.

use super::{
    SpecFileSource,
    ast::{GateRef, GateSpec, GoalSpec, PersonaFileSpec, PlanSpec, StepSpec},
    files,
    skills::LoadedSkill,
};
use std::collections::BTreeMap;
use wf_base::{
    diag::{Code, Diagnostic, Severity},
    name::{GateId, SkillName},
    source::{SourceText, Spanned},
};

/// A spec file and every file it uses, as far as they could be read.
#[derive(Debug, Default)]
pub struct LoadedSpec {
    /// The files; the first is the requested one. Their paths are relative to the workspace.
    pub sources: Vec<SourceText>,
    /// The plan each file declares, by the index of its source; `None` if it is a gate, or too
    /// little could be read. The plan of a goal consists of its checks and its repair.
    pub plans: Vec<Option<PlanSpec>>,
    /// The goals among the files, by the index of their source: only the first file can be one
    /// without mistakes.
    pub goals: BTreeMap<usize, GoalSpec>,
    /// The gates among the files, by the index of their source.
    pub gates: BTreeMap<usize, GateSpec>,
    /// The personas among the files, by the index of their source.
    pub personas: BTreeMap<usize, PersonaFileSpec>,
    /// The skills among the files, by the index of the source that is their SKILL.md.
    pub skills: BTreeMap<usize, LoadedSkill>,
    /// The gates of the workspace, by the index of their source, in order.
    pub system: Vec<usize>,
    /// The diagnostics, each with the index of its source.
    pub diagnostics: Vec<(usize, Diagnostic)>,
    pub(super) index: BTreeMap<String, usize>,
}

impl LoadedSpec {
    /// Returns the plan the requested file declares.
    pub fn root(&self) -> Option<&PlanSpec> {
        self.plans.first()?.as_ref()
    }

    /// Returns the goal of the requested file; `None` if it is something else.
    pub fn goal(&self) -> Option<&GoalSpec> {
        self.goals.get(&0)
    }

    /// Returns the index of the file a step of the file `from` uses; `None` if the step uses
    /// none or it could not be read.
    pub fn used(&self, from: usize, step: &StepSpec) -> Option<usize> {
        self.file_at(from, step.used_file()?)
    }

    /// Returns the index of the file the file `from` names by a path; `None` if it could not be read.
    pub fn file_at(&self, from: usize, path: &str) -> Option<usize> {
        self.index.get(&self.resolve(from, path)?).copied()
    }

    /// Returns a gate a plan names, or contains, with the index of its file; `None` if it
    /// could not be read. `from` is the file of the plan.
    pub fn gate<'a>(&'a self, from: usize, gate_ref: &'a GateRef) -> Option<(usize, &'a GateSpec)> {
        match gate_ref {
            GateRef::Inline(gate) => Some((from, gate)),
            GateRef::Named(id) => {
                let file = *self.index.get(&gate_path(&id.value))?;
                Some((file, self.gates.get(&file)?))
            }
        }
    }

    /// Returns a readable skill, with the index of its file.
    pub fn skill(&self, name: &SkillName) -> Option<(usize, &LoadedSkill)> {
        let mut skills = self.skills.iter();
        let (file, skill) = skills.find(|(_, skill)| skill.name == *name)?;
        Some((*file, skill))
    }

    /// Returns the readable gates of the workspace, each with the index of its file.
    pub fn system_gates(&self) -> impl Iterator<Item = (usize, &GateSpec)> {
        let gate = |file: &usize| Some((*file, self.gates.get(file)?));
        self.system.iter().filter_map(gate)
    }

    /// True if there are errors, so nothing may run.
    pub fn has_errors(&self) -> bool {
        let mut diagnostics = self.diagnostics.iter();
        diagnostics.any(|(_, diagnostic)| diagnostic.severity() == Severity::Error)
    }

    /// True if a file has no errors so far: its declarations are complete, so a name not found
    /// in it does not exist.
    pub fn is_whole(&self, file: usize) -> bool {
        let mut diagnostics = self.diagnostics.iter();
        !diagnostics.any(|(at, diagnostic)| *at == file && diagnostic.severity() == Severity::Error)
    }

    /// Sorts the diagnostics by file and location.
    pub fn sort(&mut self) {
        self.diagnostics.sort_by_key(|(file, diagnostic)| (*file, diagnostic.span, diagnostic.code));
    }

    /// Returns the path in the workspace the file `from` means; `None` if it lies outside.
    pub(super) fn resolve(&self, from: usize, used: &str) -> Option<String> {
        files::join_paths(self.sources.get(from)?.path(), used)
    }
}

/// The path of the file of a gate, relative to the workspace.
pub fn gate_path(id: &GateId) -> String {
    format!("{GATES}/{id}.md")
}

/// The folder of gates in the workspace.
pub const GATES: &str = "gates";

/// Returns the mistakes in naming plans to be suggested: missing ones.
pub(super) fn missing_suggested_plans(
    loaded: &LoadedSpec,
    files: &dyn SpecFileSource,
    file: usize,
) -> Vec<Diagnostic> {
    let plan = loaded.plans.get(file).and_then(Option::as_ref);
    let named = plan.and_then(|plan| plan.suggests.as_ref()).into_iter().flat_map(|suggests| &suggests.plans);
    let refused = named.filter_map(|plan: &Spanned<String>| {
        let reason = match loaded.resolve(file, &plan.value) {
            None => "the path is outside the workspace",
            Some(path) if files.is_missing(&path) => "no such file",
            Some(_) => return None,
        };
        let message = format!("cannot suggest `{}`: {reason}", plan.value);
        Some(Diagnostic::new(Code::UsesUnreadable, plan.span, message))
    });
    refused.collect()
}
