//! The news that the log has grown: one watcher for all browsers, and a stream of server-sent events for each.
//!
//! An event has the version of all views as its id and nothing else: whoever was away learns the new version
//! from the first event, and asks for its page again.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    Sse,
    sse::{Event, KeepAlive},
};
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use wf_app::{CommandError, views};

use crate::{caller::PageCaller, limits::StreamPlace};

/// The pause between two looks at the log.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The pause after a state could not be read, or while there is none.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The version of all views while there is no state.
const NO_STATE: &str = "0";

/// The time between two signs of life of a stream.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Watches the log of a workspace in a thread of its own, until nobody listens any more.
pub(crate) fn watch_log(caller: Arc<PageCaller>) -> watch::Receiver<String> {
    let (sender, receiver) = watch::channel(NO_STATE.to_owned());
    tokio::task::spawn_blocking(move || look(&caller, &sender));
    receiver
}

/// Looks at the log again and again.
fn look(caller: &PageCaller, sender: &watch::Sender<String>) {
    while !sender.is_closed() {
        let version = version(caller);
        let pause = if matches!(version, Ok(Some(_))) { LOOK_INTERVAL } else { RETRY_INTERVAL };
        // A state that cannot be read is no news: its pages say so.
        if let Ok(version) = version {
            let version = version.unwrap_or_else(|| NO_STATE.to_owned());
            sender.send_if_modified(|current| {
                let is_known = *current == version;
                *current = version;
                !is_known
            });
        }
        std::thread::sleep(pause);
    }
}

/// Returns the version of all views; `None` if there is no state. It is read anew each time: a state that was restored is
/// another file.
fn version(caller: &PageCaller) -> Result<Option<String>, CommandError> {
    let reader = views::state_reader(caller)?;
    reader.map(|reader| views::view_version(caller, &reader)).transpose()
}

/// Returns a stream with an event for the log as it is, and one for each time it grew.
pub(crate) fn event_stream(
    mut log: watch::Receiver<String>,
    place: StreamPlace,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    log.mark_changed();
    let events = stream::unfold((log, place), |(mut log, place)| async move {
        log.changed().await.ok()?;
        let version = log.borrow_and_update().clone();
        Some((Ok(Event::default().id(&version).event("log").data(&version)), (log, place)))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}
