//! The tool by which an agent adds a note to memory.

use std::sync::Arc;

use super::call_outcome::CallOutcome;
use crate::run::RunContext;
use wf_base::redact::SecretMask;
use wf_core::machine::Attempt;
use wf_core::memory::{MemoryNote, NoteDraft};
use wf_store::StoreError;

/// The maximum number of new notes of an attempt (Silas 11).
const MAX_NOTES: usize = 10;

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
        ..draft
    };
    let by = format!("run:{}/{}", run.run_ref.id, source.attempt);
    let note = match MemoryNote::new(draft, &by, source.untrusted, run.session.clock.now()) {
        Ok(note) => note,
        Err(bad) => return CallOutcome::failed(format!("nothing is remembered: {bad}")),
    };
    let added = tokio::task::spawn_blocking(move || add(&run, note));
    match added.await.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic())) {
        Ok(text) => text,
        Err(unable) => CallOutcome::failed(format!("memory cannot be written: {unable}")),
    }
}

fn add(run: &RunContext, note: MemoryNote) -> Result<CallOutcome, StoreError> {
    let id = note.id.short();
    let known = run.session.store.reader()?.notes()?;
    let is_new = known.iter().all(|one| one.id != note.id);
    if is_new && known.iter().filter(|one| one.source == note.source).count() >= MAX_NOTES {
        return Ok(CallOutcome::failed(format!(
            "an attempt adds at most {MAX_NOTES} notes, and this one has; nothing is remembered"
        )));
    }
    run.session.store.add_notes(vec![note]).wait()?;
    let text =
        if is_new { format!("remembered as note {id}") } else { format!("note {id} was known before") };
    Ok(CallOutcome { text, is_error: false, outside: None })
}
