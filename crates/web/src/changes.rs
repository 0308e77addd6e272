//! The news that the log has grown: one watcher for all browsers, and a stream of server-sent events for each.
//!
//! An event has the version of all views as its id and nothing else: whoever was away learns from the first event that
//! the version is another one, and asks for its page again.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use wf_app::{Host, views};

use crate::caller::PageCaller;

/// The pause between two looks at the log.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The pause after a state could not be read, or while there is none.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The time between two signs of life of a stream.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Watches the log of a workspace in a thread of its own, until nobody listens any more.
pub(crate) fn watch_log(host: Host) -> watch::Receiver<String> {
    let (sender, receiver) = watch::channel("0".to_owned());
    tokio::task::spawn_blocking(move || look(&PageCaller(host), &sender));
    receiver
}

/// Looks at the log again and again.
fn look(caller: &PageCaller, sender: &watch::Sender<String>) {
    while !sender.is_closed() {
        // A state that was restored is another file: the reader is opened anew after each error.
        if let Ok(Some(reader)) = views::state_reader(caller) {
            while let Ok(version) = views::view_version(caller, &reader) {
                if sender.is_closed() {
                    return;
                }
                sender.send_if_modified(|known| {
                    let is_known = *known == version;
                    *known = version;
                    !is_known
                });
                std::thread::sleep(LOOK_INTERVAL);
            }
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// Returns a stream with an event for the log as it is, and one for each time that it grew.
pub(crate) fn event_stream(
    mut log: watch::Receiver<String>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    log.mark_changed();
    let events = stream::unfold(log, |mut log| async move {
        log.changed().await.ok()?;
        let version = log.borrow_and_update().clone();
        Some((Ok(Event::default().id(&version).event("log").data(&version)), log))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}
