use std::sync::Arc;

use serde_json::Value;

use super::{Sight, View};
use crate::exec::Unable;
use crate::exec::check::Ground;
use crate::exec::environment::{ItemAlone, ParamsAlone};
use crate::expr::Template;
use crate::model::{Check, Object, Probe};

impl View {
    /// Looks through a view while others go on.
    pub async fn apart<T: Send + 'static>(
        view: &Arc<Self>,
        look: fn(&Self) -> Result<T, Unable>,
    ) -> Result<T, Unable> {
        let view = Arc::clone(view);
        blocking(move || look(&view)).await
    }
}

async fn blocking<T: Send + 'static>(
    look: impl FnOnce() -> Result<T, Unable> + Send + 'static,
) -> Result<T, Unable> {
    let lost = |_| {
        Err(Unable::environmental(
            "the workspace could not be looked at",
        ))
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.unwrap_or_else(lost)
}

/// A check that is to see the workspace through a view.
#[derive(Clone, Debug)]
pub struct Looking {
    /// The view.
    view: Arc<View>,
    /// The check.
    check: Arc<Check>,
    /// Globs of what the work that is checked left.
    products: Arc<[String]>,
}

impl Looking {
    /// A check of a result. What its words say is looked at with the values that are no result of work:
    /// those of the parameters and of the item.
    pub fn new(
        (view, products): (Arc<View>, Arc<[String]>),
        check: &Check,
        params: &Object,
        item: Option<&Value>,
    ) -> Self {
        let scope = ItemAlone {
            params: ParamsAlone(Some(params)),
            item,
        };
        let mut check = check.clone();
        if let Some(Probe::Exec(words)) = &mut check.probe {
            let known = words.iter().filter_map(|word| word.render(&scope).ok());
            *words = known.map(|word| Template::literal(&word)).collect();
        }
        Self {
            view,
            check: Arc::new(check),
            products,
        }
    }

    /// Looks at the workspace: what there is, if a sandbox can hide some of it, and the ground on which
    /// the check sees no more than it may. The disk is waited for elsewhere.
    pub async fn look(&self, ground: &Ground) -> Result<(Option<Sight>, Ground), Unable> {
        if self.view.is_open || ground.around.is_none() {
            let look = |at: &Self| at.view.look_unconfined(&at.check, &at.products);
            self.apart(look).await?;
            return Ok((None, ground.clone()));
        }
        let sight = self.apart(|at| at.view.look(&at.check, &at.products));
        let sight = sight.await?;
        let ground = Ground {
            whiteouts: sight.hidden.clone(),
            ..ground.clone()
        };
        Ok((Some(sight), ground))
    }

    /// Looks whether the check saw nothing else meanwhile.
    pub async fn recheck(&self, before: Option<Sight>) -> Result<(), Unable> {
        let Some(before) = before else {
            return Ok(());
        };
        let again = move |looking: &Self| {
            let Self {
                view,
                check,
                products,
            } = looking;
            view.recheck(&before, check, products)
        };
        self.apart(again).await
    }

    async fn apart<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Self) -> Result<T, Unable> + Send + 'static,
    ) -> Result<T, Unable> {
        let looking = self.clone();
        blocking(move || look(&looking)).await
    }
}
