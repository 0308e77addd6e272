//! The copy of a run and of those nested in it, in the state of the command following them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use wf_base::{digest::Sha256Digest, name::RunId};
use wf_engine::{BackendRun, FromBackend, NestedRun, StateAddition, ended_run};
use wf_store::{BlobStore, StateFolder, StoreDurability};

use crate::{
    files::{
        objects::{ObjectError, Objects},
        parcel::RunFile,
        results,
    },
    follower::{
        bring_back::bring_back,
        follow::{FollowError, say},
    },
    host::run_folder::write_files,
    locks::{lock_claims::LockClaim, queue::LockTicket},
    messages::order::{LogRef, RunNews, UnstoredLog},
    run::log::{RunStory, event_files, news_since, pages_since, stories},
};

/// The copy, and how far it is.
pub(crate) struct LocalCopy {
    run: RunId,
    /// The number of events the command has.
    recorded: u64,
    /// The log as far as its additions were passed on.
    added_log: LogRef,
    /// The number of events read. All are read once, since a later one may be of a run that began before.
    count: u64,
    /// The runs of the log, as far as it was read.
    known_runs: BTreeSet<RunId>,
    /// The nested runs under way the command has not heard of.
    nested: BTreeMap<RunId, Box<NestedRun>>,
    root: PathBuf,
    /// The folder of all runs.
    folder: PathBuf,
    blobs: BlobStore,
    objects: Objects,
    /// The files of the runs it has: each path with its content.
    files: BTreeMap<String, Sha256Digest>,
    /// The reported waits for locks.
    lock_claims: Vec<LockClaim>,
}

/// Returns the files of a state.
pub(crate) fn blobs(state: &Path) -> BlobStore {
    BlobStore::new(StateFolder::new(state).blobs(), StoreDurability::Normal)
}

impl LocalCopy {
    pub(crate) fn new(run: &BackendRun, objects: Objects) -> Self {
        let (state, blobs) = (StateFolder::new(&run.state), blobs(&run.state));
        Self {
            run: run.run.clone(),
            recorded: run.recorded.max(run.opening.len() as u64),
            added_log: LogRef::default(),
            count: 0,
            known_runs: BTreeSet::from([run.run.clone()]),
            nested: BTreeMap::new(),
            root: run.root.clone(),
            folder: state.runs(),
            blobs,
            objects,
            files: BTreeMap::new(),
            lock_claims: Vec::new(),
        }
    }

    /// Takes the news, and passes it on: files first. Returns the number of new events.
    pub(crate) async fn take_news(&mut self, news: RunNews) -> Result<u64, FollowError> {
        let since = news_since(&self.objects, &news, self.count).await?;
        let is_over = news.outcome.is_some();
        if is_over {
            // Before the end is passed on, which ends this program.
            let entries = news_since(&self.objects, &news, 0).await?.entries;
            for path in bring_back(&self.root, &entries, &news.tree, &self.objects).await? {
                say(&FromBackend::Note(format!(
                    "`{path}` was changed here since the run began, and is left as it is; the artifact is in the state"
                )));
            }
        }
        let mut stories = stories(since.entries, &self.run);
        self.known_runs.extend(stories.iter().map(|story| story.run.clone()));
        self.take_files(since.files).await?;
        // The last event may be the end of the run, after which nothing is recorded.
        let last = stories.last_mut().and_then(|story| Some((story.run.clone(), story.events.pop()?)));
        let mut count = 0;
        for story in stories {
            count += self.pass_on(story).await?;
        }
        self.pass_on_additions(&news).await?;
        if let Some((run, event)) = last {
            count += self.pass_on(RunStory { run, nested: None, events: vec![event] }).await?;
        }
        for run in self.nested.keys().cloned().collect::<Vec<_>>() {
            self.introduce(&run);
        }
        self.tell_waits(news.waits);
        Ok(count)
    }

    /// Passes on the additions to the state that are new: those that are stored, and at the end of the run also the others.
    async fn pass_on_additions(&mut self, news: &RunNews) -> Result<(), FollowError> {
        let pages = pages_since(&self.objects, news.log, self.added_log).await?;
        self.added_log = news.log;
        let mut additions: Vec<StateAddition> = pages.into_iter().flat_map(|page| page.additions).collect();
        if news.outcome.is_some() {
            let unstored_log: UnstoredLog = news.rest.clone().open(&self.objects).await?;
            additions.extend(unstored_log.additions);
        }
        for addition in &additions {
            if let StateAddition::Result(entry) = addition {
                results::fetch(entry, &self.blobs, &self.objects).await?;
            }
        }
        if !additions.is_empty() {
            say(&FromBackend::Additions(additions));
        }
        Ok(())
    }

    /// Writes files of the runs known here.
    async fn take_files(&mut self, mut files: Vec<RunFile>) -> Result<(), ObjectError> {
        let is_known = |file: &RunFile| {
            let run = file.path.split('/').next().unwrap_or_default();
            self.known_runs.contains(&RunId::from_stored(run))
        };
        files.retain(|file| is_known(file) && self.files.get(&file.path) != Some(&file.digest));
        write_files(&self.folder, &files, &self.objects).await?;
        self.files.extend(files.into_iter().map(|RunFile { path, digest }| (path, digest)));
        Ok(())
    }

    /// Passes on events of a run, as far as they are not recorded. Returns the number of those.
    async fn pass_on(&mut self, story: RunStory) -> Result<u64, FollowError> {
        let RunStory { run, nested, mut events } = story;
        let skip = usize::try_from(self.recorded.saturating_sub(self.count)).unwrap_or(usize::MAX);
        self.count += events.len() as u64;
        self.nested.extend(nested.map(|nested| (run.clone(), nested)));
        for ended in events.iter().filter_map(|event| ended_run(&run, &event.fact)) {
            self.nested.remove(&ended);
        }
        events.drain(..skip.min(events.len()));
        if events.is_empty() {
            return Ok(0);
        }
        for digest in events.iter().flat_map(|event| event_files(&event.fact)) {
            if !self.blobs.path(&digest).exists() {
                self.blobs.put_bytes(&self.objects.get_bytes(&digest).await?)?;
            }
        }
        self.introduce(&run);
        let count = events.len() as u64;
        say(&FromBackend::Events { run, events });
        Ok(count)
    }

    /// Tells which tasks have begun to wait for a lock, once for each wait.
    fn tell_waits(&mut self, lock_claims: Vec<LockClaim>) {
        for wait in lock_claims.iter().filter(|wait| !self.lock_claims.contains(wait)) {
            let LockClaim { task, lock, holder, .. } = wait.clone();
            if let Some(LockTicket { run, task_id: holder, .. }) = holder {
                say(&FromBackend::LockHeld { waits: task.run, task_id: task.task_id, lock, run, holder });
            }
        }
        self.lock_claims = lock_claims;
    }

    /// Tells the command of a nested run, and before that of the one around it.
    fn introduce(&mut self, run: &RunId) {
        if let Some(nested) = self.nested.remove(run) {
            self.introduce(&nested.outer);
            say(&FromBackend::Nested(nested));
        }
    }
}
