//! What a step is given before it begins, and what must hold then: in a run that was approved in advance, that the
//! workspace is what was approved.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tokio::sync::watch;

use crate::exec::view::View;
use crate::exec::{Stop, Unable};
use crate::machine::Ended;
use crate::model::{SecretSource, Step, Work};
use crate::name::EnvName;

use super::scope::secrets_read;
use super::unit::Task;

impl Task {
    /// The secrets that a step reads, whose programs may run only where the step may; `None` if it was told to
    /// end before they were known: a program that prints one may take its time.
    pub(super) async fn secrets(
        &self,
        step: &Step,
        stop: &watch::Receiver<Stop>,
    ) -> Result<Option<BTreeMap<String, String>>, Unable> {
        tokio::select! {
            found = self.read_secrets(step) => found.map(Some),
            () = told_to_end(stop.clone()) => Ok(None),
        }
    }

    async fn read_secrets(&self, step: &Step) -> Result<BTreeMap<String, String>, Unable> {
        let mut found = BTreeMap::new();
        for name in secrets_read(step) {
            if self.is_printed(name) {
                self.looked(View::admit_unconfined).await?;
            }
            let name = EnvName::parse(name).map_err(|error| Unable::logical(error.to_string()))?;
            let secret = self.run.secrets.get(&name).await;
            let secret = secret.map_err(|error| Unable::environmental(error.to_string()))?;
            found.insert(name.to_string(), secret.expose().to_owned());
            self.used(&name);
        }
        Ok(found)
    }

    /// Whether a secret is what a program prints, which nothing confines.
    fn is_printed(&self, name: &str) -> bool {
        let mut declared = self.run.plan.parts().secrets.iter();
        let found = declared.find(|secret| secret.name.as_str() == name);
        found.is_some_and(|secret| matches!(secret.source, SecretSource::Command(_)))
    }

    /// Notes that a connection was used, so that it is kept alive. If that cannot be written, only
    /// that is lost.
    fn used(&self, name: &EnvName) {
        let mut declared = self.run.plan.parts().secrets.iter();
        let from = declared.find(|secret| secret.name == *name);
        if let Some(SecretSource::Connection { name, .. }) = from.map(|secret| &secret.source) {
            let session = &self.run.session;
            drop(session.store.connection_used(name, session.clock.now()));
        }
    }

    /// Takes back the success of a program if something that was approved was changed while it ran.
    pub(super) async fn confirmed(&self, step: &Step, ended: &mut Ended) {
        if ended.exit.is_success()
            && matches!(step.work, Work::Run(_) | Work::Exec(_) | Work::Skill(_))
            && let Err(unable) = self.looked(View::confirm).await
        {
            ended.exit = unable.into();
        }
    }

    /// Looks at the workspace, where a run was approved in advance.
    async fn looked<T: Default + Send + 'static>(
        &self,
        look: fn(&View) -> Result<T, Unable>,
    ) -> Result<T, Unable> {
        match &self.run.view {
            Some(view) => View::apart(view, look).await,
            None => Ok(T::default()),
        }
    }

    /// What a step does not see of the workspace, as far as it is confined.
    pub(super) async fn admitted(&self, is_confined: bool) -> Result<Vec<PathBuf>, Unable> {
        if is_confined {
            return self.looked(View::admit).await;
        }
        self.looked(View::admit_unconfined).await?;
        Ok(Vec::new())
    }
}

async fn told_to_end(mut stop: watch::Receiver<Stop>) {
    if stop.wait_for(|stop| *stop != Stop::No).await.is_err() {
        std::future::pending::<()>().await;
    }
}
