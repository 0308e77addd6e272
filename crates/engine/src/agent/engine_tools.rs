//! The tools of an agent the engine carries out itself: it searches memory, adds notes to it, and fetches pages.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use wf_base::redact::SecretMask;
use wf_core::{
    agent::cut_result,
    machine::Attempt,
    memory::{MemoryNote, MemoryQuery, NoteDraft},
};
use wf_exec::{
    StopLevel,
    fetch::{FetchTarget, fetch_page},
};

use super::call_outcome::CallOutcome;
use crate::{
    memory::{self, NoteOutcome},
    run::RunContext,
};

/// Searches the memory of the workspace. Nothing is written.
pub(super) async fn search_memory(
    run: Arc<RunContext>,
    query: MemoryQuery,
    mask: &SecretMask,
) -> CallOutcome {
    let searched = tokio::task::spawn_blocking(move || memory::search_all(&run, &query));
    match searched.await.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic())) {
        Ok(answer) => {
            let outside = answer.is_external.then(|| "memory".to_owned());
            CallOutcome::done(cut_result(&mask.text(&answer.text)), outside)
        }
        Err(unable) => CallOutcome::failed(format!("memory cannot be searched: {unable}")),
    }
}

/// Fetches a page. The address is from a model, with the known secrets of the run masked.
pub(super) async fn fetch(
    target: &FetchTarget,
    mask: &SecretMask,
    time_left: Option<Duration>,
    stop: watch::Receiver<StopLevel>,
) -> CallOutcome {
    let page = fetch_page(target, time_left, stop).await;
    let text = cut_result(&mask.text(&page.text));
    CallOutcome { is_error: page.is_error, ..CallOutcome::done(text, Some(target.source())) }
}

/// The author of a note.
pub(super) struct NoteSource {
    pub(super) attempt: Attempt,
    /// True if it was given untrusted text before.
    pub(super) untrusted: bool,
}

/// Adds a note, with working trust. The same note is added once, so the call may be repeated.
pub(super) async fn remember(
    run: Arc<RunContext>,
    draft: NoteDraft,
    source: NoteSource,
    mask: &SecretMask,
) -> CallOutcome {
    let masked = |text: &str| mask.text(text).into_owned();
    let draft = NoteDraft {
        kind: masked(&draft.kind),
        text: masked(&draft.text),
        tags: draft.tags.iter().map(|tag| masked(tag)).collect(),
        session: run.session_name.clone(),
        ..draft
    };
    let by = format!("run:{}/{}", run.run_ref.id, source.attempt);
    let note = match MemoryNote::new(draft, &by, source.untrusted, run.session.clock.now()) {
        Ok(note) => note,
        Err(bad) => return CallOutcome::failed(format!("nothing is remembered: {bad}")),
    };
    let added = tokio::task::spawn_blocking(move || memory::add_note(&run, note));
    match added.await.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic())) {
        Ok(NoteOutcome::TooMany) => CallOutcome::failed(NoteOutcome::TooMany.to_string()),
        Ok(outcome) => CallOutcome::done(outcome.to_string(), None),
        Err(unable) => CallOutcome::failed(format!("memory cannot be written: {unable}")),
    }
}
