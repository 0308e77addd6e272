//! The news of a grown log: one watcher for all browsers, and a stream of server-sent events for each.
//!
//! An event has the version of all views as its id and nothing else: whoever was away learns the new version
//! from the first event, and asks for its page again.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    Sse,
    sse::{Event, KeepAlive},
};
use futures_util::{
    future::select_all,
    stream::{self, Stream, StreamExt as _},
};
use tokio::sync::watch;
use wf_app::{Caller as _, CommandError, keys::keys_version, views};

use crate::{caller::PageCaller, limits::StreamPlace, logins::Logins, site::Site, template::build};

/// The pause between two looks at the log.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The pause after a state could not be read, or while there is none.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The shortest time between two news for a page.
const NEWS_INTERVAL: Duration = Duration::from_millis(500);

/// The time between two looks at the login of a page.
const LOGIN_INTERVAL: Duration = Duration::from_secs(3);

/// The version of all views while there is no state.
const NO_STATE: &str = "0";

/// The time between two signs of life of a stream.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The logs behind a page: one of its workspace, or those of all workspaces of a server.
#[derive(Clone, Debug)]
pub(crate) struct LogWatch(Vec<watch::Receiver<String>>);

impl LogWatch {
    /// Watches the log of a workspace in a thread of its own, until nobody listens any more.
    pub fn of(caller: Arc<PageCaller>) -> Self {
        let (sender, receiver) = watch::channel(NO_STATE.to_owned());
        tokio::task::spawn_blocking(move || look(&caller, &sender));
        Self(vec![receiver])
    }

    /// Watches the logs of several.
    pub fn of_all<'w>(watches: impl Iterator<Item = &'w Self>) -> Self {
        Self(watches.flat_map(|watch| watch.0.iter().cloned()).collect())
    }

    /// Returns the version of all views.
    pub fn version(&self) -> String {
        let versions: Vec<String> = self.0.iter().map(|log| log.borrow().clone()).collect();
        versions.join("-")
    }

    /// Waits until a log has grown; `None` once nobody watches it any more.
    pub async fn changed(&mut self) -> Option<()> {
        let changes = self.0.iter_mut().map(|log| Box::pin(log.changed()));
        select_all(changes).await.0.ok()
    }

    /// True if a log has grown since it was looked at.
    pub fn has_changed(&self) -> bool {
        self.0.iter().any(|log| log.has_changed().unwrap_or(false))
    }

    pub fn mark_changed(&mut self) {
        self.0.iter_mut().for_each(watch::Receiver::mark_changed);
    }

    pub fn mark_unchanged(&mut self) {
        self.0.iter_mut().for_each(watch::Receiver::mark_unchanged);
    }
}

/// Looks at the log again and again.
fn look(caller: &PageCaller, sender: &watch::Sender<String>) {
    while !sender.is_closed() {
        let version = version(caller);
        let pause = if matches!(version, Ok(Some(_))) { LOOK_INTERVAL } else { RETRY_INTERVAL };
        // A state that cannot be read is no news: its pages say so.
        if let Ok(version) = version {
            let version = format!("{}!{}", version.as_deref().unwrap_or(NO_STATE), keys_version(caller));
            sender.send_if_modified(|current| {
                let is_known = *current == version;
                *current = version;
                !is_known
            });
        }
        std::thread::sleep(pause);
    }
}

/// Returns the version of all views; `None` if there is no state. It is read anew each time: a restored state is
/// another file.
fn version(caller: &PageCaller) -> Result<Option<String>, CommandError> {
    let reader = views::state_reader(caller)?;
    reader.map(|reader| views::view_version(caller, &reader)).transpose()
}

/// A stream of news for one page.
struct NewsStream {
    log: LogWatch,
    logins: Arc<Logins>,
    clock: Arc<PageCaller>,
    /// The key of its browser.
    key: String,
    _place: StreamPlace,
}

impl NewsStream {
    /// Waits for the next version; `None` once the login of the browser has ended.
    async fn next(&mut self) -> Option<String> {
        loop {
            tokio::select! {
                changed = self.log.changed() => {
                    changed?;
                    self.log.mark_unchanged();
                    return Some(self.log.version());
                }
                () = tokio::time::sleep(LOGIN_INTERVAL) => {
                    if !self.logins.is_open(&self.key, self.clock.host().now()) {
                        return None;
                    }
                }
            }
        }
    }
}

/// Returns a stream with the build of the server, an event for the log as it is, and one for each time it grew, of which
/// there are two a second at most. It ends with the login.
pub(crate) fn event_stream(
    site: &Site,
    key: String,
    place: StreamPlace,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
    let mut log = site.log.clone();
    log.mark_changed();
    let (logins, clock) = (Arc::clone(&site.logins), site.caller());
    let news = NewsStream { log, logins, clock, key, _place: place };
    let events = stream::unfold((news, true), |(mut news, is_first)| async move {
        if !is_first {
            tokio::time::sleep(NEWS_INTERVAL).await;
        }
        let version = news.next().await?;
        Some((Ok(Event::default().id(&version).event("log").data(&version)), (news, false)))
    });
    let build = Event::default().event("build").data(build());
    Sse::new(stream::once(async { Ok(build) }).chain(events))
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}
