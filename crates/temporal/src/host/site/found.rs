//! The files that work leaves on a host, for its report.

use wf_base::name::RunId;
use wf_core::machine::Attempt;
use wf_engine::StateAddition;

use super::{RunSite, WorkerError};
use crate::{
    files::{
        findings::{FindingSource, LookSpan},
        objects::{ObjectError, Objects},
        parcel::{Parcel, RunFile},
        results::StoredResults,
    },
    host::run_folder::RunFolder,
};

/// The files that some work left.
pub(super) struct FoundFiles {
    /// The files of its attempt in the folder of its run.
    pub(super) own_files: Vec<RunFile>,
    /// The other files, with those of other work.
    pub(super) source: FindingSource,
}

impl RunSite {
    /// Finds the files some work left here.
    pub(super) async fn find(
        &self,
        run: &RunId,
        attempt: Option<&Attempt>,
        looks: LookSpan,
        objects: &Objects,
    ) -> Result<FoundFiles, WorkerError> {
        let state = self.session.store.folder();
        let outermost = self.family.lock().await.outermost().clone();
        let pack = match attempt {
            Some(attempt) => self.worktree_packer(run, attempt).await?,
            None => None,
        };
        let mut folders = self.run_folders.lock().await;
        let folder = folders.entry(run.clone()).or_insert_with(|| RunFolder::new(state, run));
        let own = folder.take_new(attempt, objects).await?;
        // Whoever takes what is not its own alone has to bring it before another one reports.
        let mut checkout = self.checkout.lock().await;
        let mut shared = folder.take_exchanges(objects).await?;
        if let Some(pack) = pack {
            shared.extend(folder.take_versions(pack, objects).await?);
        }
        if *run != outermost {
            let new = || RunFolder::new(state, &outermost);
            let around = folders.entry(outermost.clone()).or_insert_with(new);
            shared.extend(around.take_exchanges(objects).await?);
        }
        drop(folders);
        let last = checkout.find(looks.last - 1, shared, objects).await?;
        let source = FindingSource { copy: checkout.name().to_owned(), looks, last };
        Ok(FoundFiles { own_files: own, source })
    }

    /// Returns the new additions to the state. Results for reuse are shared with all hosts.
    pub(super) async fn take_additions(
        &self,
        run: &RunId,
        objects: &Objects,
    ) -> Result<Option<Parcel>, ObjectError> {
        let additions = self.session.take_additions();
        let stored = self.store_additions(&additions, run, objects).await;
        if stored.is_err() {
            self.session.return_additions(additions);
        }
        stored
    }

    async fn store_additions(
        &self,
        additions: &[StateAddition],
        run: &RunId,
        objects: &Objects,
    ) -> Result<Option<Parcel>, ObjectError> {
        for addition in additions {
            // One of another run was found there.
            if let StateAddition::Result(entry) = addition
                && entry.run == *run
            {
                StoredResults(objects.clone()).put_entry(entry, self.session.store.blobs()).await?;
            }
        }
        if additions.is_empty() {
            return Ok(None);
        }
        Ok(Some(Parcel::pack(&additions, objects).await?))
    }
}
