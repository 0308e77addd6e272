//! The tools of an agent that the engine carries out itself, and that bring text from outside.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::call_outcome::CallOutcome;
use crate::memory::records;
use crate::run::RunContext;
use wf_base::redact::SecretMask;
use wf_core::agent::cut_result;
use wf_core::memory::MemoryQuery;
use wf_exec::StopLevel;
use wf_exec::fetch::{FetchTarget, fetch_page};

/// Searches the memory of the workspace. Nothing is written.
pub(super) async fn search_memory(
    run: Arc<RunContext>,
    query: MemoryQuery,
    mask: &SecretMask,
) -> CallOutcome {
    let searched = tokio::task::spawn_blocking(move || records::search_all(&run, &query));
    match searched.await.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic())) {
        Ok(found) => {
            let outside = found.is_external.then(|| "memory".to_owned());
            CallOutcome::done(cut_result(&mask.text(&found.text)), outside)
        }
        Err(unable) => CallOutcome::failed(format!("memory cannot be searched: {unable}")),
    }
}

/// Fetches a page. The address is what a model said, in which secrets that the run knows are masked.
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
