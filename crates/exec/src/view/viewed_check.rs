use std::sync::Arc;

use serde_json::Value;

use super::{WorkspaceSnapshot, WorkspaceView};
use crate::WorkError;
use crate::check::CheckEnvironment;
use crate::environment::KnownValues;
use wf_model::expr::Template;
use wf_model::{Check, CheckProbe, JsonObject};

impl WorkspaceView {
    /// Inspects a view on a blocking thread.
    pub async fn apart<T: Send + 'static>(
        view: &Arc<Self>,
        look: fn(&Self) -> Result<T, WorkError>,
    ) -> Result<T, WorkError> {
        let view = Arc::clone(view);
        blocking(move || look(&view)).await
    }
}

async fn blocking<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, WorkError> + Send + 'static,
) -> Result<T, WorkError> {
    let lost = |_| Err(WorkError::environmental("cannot scan the workspace"));
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(lost)
}

/// A check that sees the workspace through a view.
#[derive(Clone, Debug)]
pub struct ViewedCheck {
    /// The view.
    workspace_view: Arc<WorkspaceView>,
    /// The check.
    check: Arc<Check>,
    /// The globs of the products of the checked work.
    products: Arc<[String]>,
}

impl ViewedCheck {
    /// Prepares a check of a result. Its words are rendered with the values that are not results of
    /// work: those of the parameters and of the item.
    pub fn new(
        view: Arc<WorkspaceView>,
        products: Arc<[String]>,
        check: &Check,
        params: &JsonObject,
        item: Option<&Value>,
    ) -> Self {
        let scope = KnownValues { params: Some(params), item };
        let mut check = check.clone();
        if let Some(CheckProbe::Exec(words)) = &mut check.probe {
            let known = words.iter().filter_map(|word| word.render(&scope).ok());
            *words = known.map(|word| Template::literal(&word)).collect();
        }
        Self { workspace_view: view, check: Arc::new(check), products }
    }

    /// Inspects the workspace on a blocking thread. Returns its state, if a sandbox can hide parts
    /// of it, and the ground on which the check sees only what it may.
    pub async fn inspect_workspace(
        &self,
        ground: &CheckEnvironment,
    ) -> Result<(Option<WorkspaceSnapshot>, CheckEnvironment), WorkError> {
        if self.workspace_view.is_open || ground.sandboxes.is_none() {
            let look = |at: &Self| at.workspace_view.inspect_unconfined(&at.check, &at.products);
            self.apart(look).await?;
            return Ok((None, ground.clone()));
        }
        let sight = self.apart(|at| at.workspace_view.inspect(&at.check, &at.products));
        let sight = sight.await?;
        let ground = CheckEnvironment { whiteouts: sight.hidden.clone(), ..ground.clone() };
        Ok((Some(sight), ground))
    }

    /// Fails if the check may have seen other changes meanwhile.
    pub async fn recheck(&self, before: Option<WorkspaceSnapshot>) -> Result<(), WorkError> {
        let Some(before) = before else {
            return Ok(());
        };
        let again = move |looking: &Self| {
            let Self { workspace_view: view, check, products } = looking;
            view.recheck(&before, check, products)
        };
        self.apart(again).await
    }

    async fn apart<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self) -> Result<T, WorkError> + Send + 'static,
    ) -> Result<T, WorkError> {
        let looking = self.clone();
        blocking(move || look(&looking)).await
    }
}
