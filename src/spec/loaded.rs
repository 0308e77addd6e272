use std::collections::BTreeMap;

use super::ast::{Gate, GateRef, Goal, Plan, Step};
use super::path;
use super::skills::LoadedSkill;
use crate::diag::{Diagnostic, Severity};
use crate::name::{GateId, SkillName};
use crate::source::Source;

/// A spec file and every file it uses, as far as they could be read.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The files; the first is the one that was asked for. Their paths are relative to the
    /// workspace.
    pub sources: Vec<Source>,
    /// The plan that each file declares, by the index of its source; `None` if it is a gate, or
    /// too little could be read. That of a goal is its checks and its repair.
    pub plans: Vec<Option<Plan>>,
    /// The goals among the files, by the index of their source: only the first file can be one
    /// without mistakes.
    pub goals: BTreeMap<usize, Goal>,
    /// The gates among the files, by the index of their source.
    pub gates: BTreeMap<usize, Gate>,
    /// The skills among the files, by the index of the source that is their SKILL.md.
    pub skills: BTreeMap<usize, LoadedSkill>,
    /// The gates of the workspace, by the index of their source, in order.
    pub system: Vec<usize>,
    /// What is wrong, each with the index of its source.
    pub diagnostics: Vec<(usize, Diagnostic)>,
    pub(super) index: BTreeMap<String, usize>,
}

impl Loaded {
    /// What the file that was asked for declares.
    pub fn root(&self) -> Option<&Plan> {
        self.plans.first()?.as_ref()
    }

    /// The goal that the file that was asked for is; `None` if it is something else.
    pub fn goal(&self) -> Option<&Goal> {
        self.goals.get(&0)
    }

    /// The index of the file that a step of the file `from` uses; `None` if the step uses none or
    /// it could not be read.
    pub fn used(&self, from: usize, step: &Step) -> Option<usize> {
        let path = self.resolve(from, step.uses.as_deref()?)?;
        self.index.get(&path).copied()
    }

    /// A gate that a plan names, or has in itself, with the index of the file that it is written
    /// in; `None` if it could not be read. `from` is the file of the plan.
    pub fn gate<'a>(&'a self, from: usize, named: &'a GateRef) -> Option<(usize, &'a Gate)> {
        match named {
            GateRef::Inline(gate) => Some((from, gate)),
            GateRef::Named(id) => {
                let file = *self.index.get(&gate_path(&id.value))?;
                Some((file, self.gates.get(&file)?))
            }
        }
    }

    /// A skill that could be read, with the index of its file.
    pub fn skill(&self, name: &SkillName) -> Option<(usize, &LoadedSkill)> {
        let mut all = self.skills.iter();
        let (file, skill) = all.find(|(_, skill)| skill.name == *name)?;
        Some((*file, skill))
    }

    /// The gates of the workspace that could be read, each with the index of its file.
    pub fn system_gates(&self) -> impl Iterator<Item = (usize, &Gate)> {
        let gate = |file: &usize| Some((*file, self.gates.get(file)?));
        self.system.iter().filter_map(gate)
    }

    /// Whether there are errors, so that nothing may run.
    pub fn has_errors(&self) -> bool {
        let mut all = self.diagnostics.iter();
        all.any(|(_, diagnostic)| diagnostic.severity() == Severity::Error)
    }

    /// Whether a file has no errors so far: what it says is all that its author wrote, so that
    /// something not found in it is not there.
    pub fn is_whole(&self, file: usize) -> bool {
        let mut all = self.diagnostics.iter();
        !all.any(|(at, diagnostic)| *at == file && diagnostic.severity() == Severity::Error)
    }

    /// Sorts what is wrong by file and place.
    pub fn sort(&mut self) {
        self.diagnostics
            .sort_by_key(|(file, diagnostic)| (*file, diagnostic.span, diagnostic.code));
    }

    /// The path, relative to the workspace, that the file `from` means; `None` if it lies outside.
    pub(super) fn resolve(&self, from: usize, used: &str) -> Option<String> {
        path::join(self.sources.get(from)?.path(), used)
    }
}

/// The path of the file of a gate, relative to the workspace.
pub fn gate_path(id: &GateId) -> String {
    format!("{GATES}/{id}.md")
}

/// The folder of the workspace that gates are in.
pub const GATES: &str = "gates";
