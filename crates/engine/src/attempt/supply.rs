//! The inputs of a step before it begins, and its precondition: in a run approved in advance, the workspace is as
//! approved.

use std::{collections::BTreeMap, path::PathBuf};

use tokio::sync::watch;

use wf_base::name::EnvName;
use wf_core::machine::AttemptEnd;
use wf_exec::{StopLevel, WorkError, sandbox::KeptCopy, view::WorkspaceView};
use wf_model::{EngineFailure, SecretSource, Step, StepWork};

use crate::{
    files::copies,
    run::{AttemptTask, scope::secrets_read},
    session::waiting::wait_for_stop,
};

impl AttemptTask {
    /// Returns the secrets a step reads; their programs may run only where the step may. `None` if it was told to end
    /// first: a program printing one may take its time.
    pub(crate) async fn secrets(
        &self,
        step: &Step,
        stop: &watch::Receiver<StopLevel>,
    ) -> Result<Option<BTreeMap<String, String>>, WorkError> {
        tokio::select! {
            found = self.read_secrets(step) => found.map(Some),
            () = wait_for_stop(stop.clone()) => Ok(None),
        }
    }

    async fn read_secrets(&self, step: &Step) -> Result<BTreeMap<String, String>, WorkError> {
        let mut secrets = BTreeMap::new();
        for name in secrets_read(step) {
            if self.is_printed(name) {
                self.check_workspace(WorkspaceView::admit_unconfined).await?;
            }
            let name = EnvName::parse(name).map_err(|error| WorkError::logical(error.to_string()))?;
            let secret = self.run.secrets.get_secret(&name).await;
            let secret =
                secret.map_err(|error| WorkError::engine(EngineFailure::Setup, error.to_string()))?;
            secrets.insert(name.to_string(), secret.expose().to_owned());
            self.note_connection_used(&name);
        }
        Ok(secrets)
    }

    /// True if a secret is printed by a program, which is not confined.
    fn is_printed(&self, name: &str) -> bool {
        let mut declared = self.run.plan.parts().secrets.iter();
        let declaration = declared.find(|secret| secret.name.as_str() == name);
        declaration.is_some_and(|secret| matches!(secret.source, SecretSource::Command(_)))
    }

    /// Notes that a connection was used, so it is kept alive. If the note cannot be written, only the note is lost.
    fn note_connection_used(&self, name: &EnvName) {
        let mut declared = self.run.plan.parts().secrets.iter();
        let from = declared.find(|secret| secret.name == *name);
        if let Some(SecretSource::Connection { name, .. }) = from.map(|secret| &secret.source) {
            let session = &self.run.session;
            drop(session.store.connections().record_use(name, session.clock.now()));
        }
    }

    /// Revokes the success of a program if approved files were changed while it ran.
    pub(super) async fn revoke_if_changed(&self, step: &Step, end: &mut AttemptEnd) {
        if end.exit.is_success()
            && matches!(
                step.work,
                StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Agent(_)
            )
            && let Err(unable) = self.check_workspace(WorkspaceView::confirm).await
        {
            end.exit = unable.into();
        }
    }

    /// Checks the workspace, if the run was approved in advance.
    async fn check_workspace<T: Default + Send + 'static>(
        &self,
        look: fn(&WorkspaceView) -> Result<T, WorkError>,
    ) -> Result<T, WorkError> {
        match &self.run.view {
            Some(view) => WorkspaceView::apart(view, look).await,
            None => Ok(T::default()),
        }
    }

    /// Returns the verified files a step sees as they were kept, as far as it is confined.
    pub(super) async fn kept_copies(
        &self,
        step: &Step,
        is_confined: bool,
    ) -> Result<Vec<KeptCopy>, WorkError> {
        let (attempt, allow) = (self.attempt.clone(), step.allow.clone().filter(|_| is_confined));
        copies::blocking(&self.run, move |run| copies::of_step(run, &attempt, allow.as_deref())).await
    }

    /// Notes the verified files the step declares and changed.
    pub(super) async fn release_changed(&self) {
        let place = self.attempt.task_id.clone();
        let released = copies::blocking(&self.run, move |run| {
            copies::release(run, &place);
            Ok(())
        });
        drop(released.await);
    }

    /// Returns the paths of the workspace hidden from a step, as far as it is confined.
    pub(super) async fn hidden_paths(&self, is_confined: bool) -> Result<Vec<PathBuf>, WorkError> {
        if is_confined {
            return self.check_workspace(WorkspaceView::admit).await;
        }
        self.check_workspace(WorkspaceView::admit_unconfined).await?;
        Ok(Vec::new())
    }
}
