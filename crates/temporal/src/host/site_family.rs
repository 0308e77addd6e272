//! The copies of a run and of those nested in it, on the host of a worker.

use std::path::PathBuf;

use wf_app::watch::AuditedSession;
use wf_base::{digest::Sha256Digest, name::RunId};
use wf_core::machine::{Event, EventKind, InputKind};
use wf_engine::{NestedRun, RunFamily, RunReplica, StateAddition};

use crate::{
    files::objects::Objects,
    host::site::WorkerError,
    messages::order::{LogPage, LogRef, NestedRunBeginning},
    run::log::{event_files, pages_since, stories},
};

/// The copies, and how far they are.
pub(crate) struct SiteFamily {
    family: RunFamily,
    /// The log as far as they have it.
    log: LogRef,
}

/// A file of this state others need.
pub(crate) struct StoredFile {
    pub(crate) path: PathBuf,
    pub(crate) digest: Sha256Digest,
}

impl SiteFamily {
    /// Takes the copy of a run without events yet.
    pub(crate) fn new(family: RunFamily) -> Self {
        Self { family, log: LogRef::default() }
    }

    pub(crate) fn outermost(&self) -> &RunId {
        self.family.outermost().id()
    }

    /// Returns the copy of a run.
    pub(crate) fn replica(&self, run: &RunId) -> Result<&RunReplica, WorkerError> {
        let run_replica = self.family.replica(run);
        run_replica.ok_or_else(|| WorkerError::Run(format!("run {} is not under way here", run.short())))
    }

    /// Begins a nested run, in the workspace as it is here.
    pub(crate) fn begin_nested(&mut self, nested: NestedRun) -> Result<NestedRunBeginning, WorkerError> {
        self.family.open_nested(&nested)?;
        let input = self.replica(&nested.id())?.begin()?;
        Ok(NestedRunBeginning { nested, input })
    }

    /// Brings the copies to where a log is.
    pub(crate) async fn update(
        &mut self,
        log: LogRef,
        session: &AuditedSession,
        objects: &Objects,
    ) -> Result<(), WorkerError> {
        for LogPage { before, mut entries, additions, .. } in pages_since(objects, log, self.log).await? {
            for addition in additions {
                self.take_over(addition).await?;
            }
            let skip = usize::try_from(self.log.count.saturating_sub(before.count)).unwrap_or(usize::MAX);
            entries.drain(..skip.min(entries.len()));
            for story in stories(entries, self.outermost()) {
                if let Some(nested) = &story.nested {
                    self.family.open_nested(nested)?;
                }
                for event in &story.events {
                    self.prepare(&story.run, event, session, objects).await?;
                }
                let count = story.events.len() as u64;
                self.family.extend(&story.run, story.events).await?;
                self.log.count += count;
            }
        }
        // Work that was ordered earlier may come later.
        if log.count >= self.log.count {
            self.log = log;
        }
        Ok(())
    }

    /// Takes over the additions of work elsewhere to the state, for its run, if that is still under way.
    async fn take_over(&self, addition: StateAddition) -> Result<(), WorkerError> {
        let run = match &addition {
            StateAddition::Lookup(lookup) => &lookup.run,
            _ => self.family.outermost().id(),
        };
        match self.family.replica(run) {
            Some(replica) => Ok(replica.take_over(addition).await?),
            None => Ok(()),
        }
    }

    /// Puts the stored files of an event among those of this state, unless they are there.
    async fn prepare(
        &self,
        run: &RunId,
        event: &Event,
        session: &AuditedSession,
        objects: &Objects,
    ) -> Result<(), WorkerError> {
        let blobs = session.store.blobs();
        for digest in event_files(&event.fact) {
            if !blobs.path(&digest).exists() {
                blobs.put_bytes(&objects.get_bytes(&digest).await?)?;
            }
        }
        if let EventKind::PlanGenerated(generation) = &event.fact {
            let replica = self.replica(run)?;
            if !replica.text_path(&generation.text_digest).exists() {
                replica.put_text(&objects.get_bytes(&generation.text_digest).await?)?;
            }
        }
        Ok(())
    }

    /// Returns the stored files the result of work for a run names.
    pub(crate) fn stored_files(
        &self,
        run: &RunId,
        inputs: &[InputKind],
        session: &AuditedSession,
    ) -> Result<Vec<StoredFile>, WorkerError> {
        let mut files = Vec::new();
        for input in inputs {
            match input {
                InputKind::Ended(end) => files.extend(end.artifacts.iter().map(|file| {
                    let digest = file.digest;
                    StoredFile { path: session.store.blobs().path(&digest), digest }
                })),
                InputKind::Generated(made) => {
                    let digest = made.text_digest;
                    files.push(StoredFile { path: self.replica(run)?.text_path(&digest), digest });
                }
                _ => {}
            }
        }
        Ok(files)
    }
}
