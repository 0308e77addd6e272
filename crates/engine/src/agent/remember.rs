//! The tool by which an agent adds a note to memory.

use std::sync::Arc;

use super::call_outcome::CallOutcome;
use crate::memory::records;
use crate::run::RunContext;
use wf_base::redact::SecretMask;
use wf_core::machine::Attempt;
use wf_core::memory::{MemoryNote, NoteDraft};

/// The author of a note.
pub(super) struct NoteSource {
    /// The attempt.
    pub(super) attempt: Attempt,
    /// True if it was given untrusted text before.
    pub(super) untrusted: bool,
}

/// Adds a note, with working trust. The same note is added once, so that the call may be repeated.
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
    let added = tokio::task::spawn_blocking(move || records::add_note(&run, note));
    match added.await.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic())) {
        Ok(Ok(text)) => CallOutcome::done(text, None),
        Ok(Err(refusal)) => CallOutcome::failed(refusal),
        Err(unable) => CallOutcome::failed(format!("memory cannot be written: {unable}")),
    }
}
