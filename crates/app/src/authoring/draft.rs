use std::sync::Arc;

use super::diagnostics::errors_for_model;
use crate::{
    Host, Workspace,
    config::WorkspaceConfig,
    specs::load::{diagnostics_by_file, load_with_gates},
};
use wf_base::{diag::CheckedFile, name::PlanId};
use wf_core::agent::{
    ModelReply,
    authoring::{MemoryCalibration, PlanMistake, read_plan_text},
};
use wf_lang::{DiskFiles, FileReadError, SpecFileSource};
use wf_model::Plan;

/// A plan by a model, valid for `wf check`.
#[derive(Debug)]
pub struct DraftPlan {
    pub text: String,
    pub plan: Arc<Plan>,
    /// Its files, with warnings.
    pub files: Vec<CheckedFile>,
}

/// A rejected reply.
#[derive(Debug)]
pub(super) struct RejectedDraft {
    /// The mistake, for the model.
    pub(super) mistake: PlanMistake,
    /// The files with their errors, for a person; empty if there is no text to point at.
    pub(super) files: Vec<CheckedFile>,
}

/// The rules a reply must meet.
pub(super) struct DraftRules<'a> {
    pub(super) host: &'a Host,
    pub(super) workspace: &'a Workspace,
    pub(super) config: &'a WorkspaceConfig,
    /// The path the plan will have, relative to the workspace.
    pub(super) path: &'a str,
    /// The id it must have; `None`: any.
    pub(super) id: Option<&'a PlanId>,
    pub(super) calibration: &'a MemoryCalibration,
}

impl From<PlanMistake> for RejectedDraft {
    fn from(mistake: PlanMistake) -> Self {
        Self { mistake, files: Vec::new() }
    }
}

impl DraftRules<'_> {
    /// Judges a reply of a planner.
    pub(super) fn judge(&self, reply: &ModelReply) -> Result<DraftPlan, RejectedDraft> {
        let text = read_plan_text(reply)?;
        let invalid = |message: String| RejectedDraft::from(PlanMistake::Invalid(message));
        let disk = DiskFiles::new(&self.workspace.root);
        let files = DraftFiles { disk, path: self.path, text: &text };
        let loaded = load_with_gates(&files, self.path, &self.config.gates());
        let files = diagnostics_by_file(self.host, self.workspace, &loaded);
        if loaded.has_errors() {
            let mistake = PlanMistake::Invalid(errors_for_model(&files));
            return Err(RejectedDraft { mistake, files });
        }
        let is_other = loaded.gates.contains_key(&0) || loaded.personas.contains_key(&0);
        if is_other || loaded.goal().is_some() {
            return Err(invalid("the file must be a plan: write `kind: plan`".into()));
        }
        let plan =
            wf_lang::lower(&loaded, &self.config.defaults).map_err(|error| invalid(error.to_string()))?;
        if let Some(id) = self.id.filter(|id| *id != plan.id()) {
            return Err(invalid(format!("the id of the plan must be `{id}`, not `{}`", plan.id())));
        }
        match self.calibration.first_forbidden(&plan) {
            Some(forbidden) => Err(PlanMistake::Forbidden(forbidden).into()),
            None => Ok(DraftPlan { text, plan, files }),
        }
    }
}

/// The files of a workspace, with a future plan.
struct DraftFiles<'a> {
    disk: DiskFiles,
    path: &'a str,
    text: &'a str,
}

impl SpecFileSource for DraftFiles<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, FileReadError> {
        if path == self.path { Ok(self.text.as_bytes().to_vec()) } else { self.disk.read(path) }
    }

    fn leads_out(&self, path: &str) -> bool {
        self.disk.leads_out(path)
    }

    fn names(&self, folder: &str) -> Vec<String> {
        self.disk.names(folder)
    }
}
