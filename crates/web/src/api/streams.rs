//! Answers that go on as long as something comes: the events of runs, and the output of an attempt as text.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    extract::{Path, State},
    http::{HeaderMap, header::CONTENT_TYPE},
    response::{
        IntoResponse as _, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::stream;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{extract::ApiQuery, problem::ApiError};
use crate::{
    changes::{KEEP_ALIVE, LogWatch},
    guard,
    limits::{StreamPlace, no_stream},
    pages::log::FollowedLog,
    respond,
    site::Site,
};
use wf_app::{
    CommandError,
    api::{ApiEventBatch, ApiOutputQuery, EventFeed, api_feed, event_feed},
};

/// The longest time between two looks at the login of a stream.
const LOGIN_INTERVAL: Duration = Duration::from_secs(3);

/// A choice of events.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EventQuery {
    /// The id of the last event that the reader has; 0: all events from the first on; absent: those from now on. The header
    /// `Last-Event-ID` has precedence, as a reader that lost its connection sends it.
    after: Option<String>,
    /// Only events of this run and of those nested in it: from its beginning on, unless a place is named.
    run: Option<String>,
}

/// Streams events. An event `lost` says that some cannot be sent any more.
pub(super) async fn events(
    State(site): State<Site>,
    ApiQuery(query): ApiQuery<EventQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let after = last.or(query.after);
    let Some(place) = site.limits.open_stream() else {
        return Ok(no_stream(&site, &headers));
    };
    // Before the first look: what is added after that wakes the stream.
    let log = site.log.clone();
    let run = query.run.clone();
    let opened = site.read_stream(move |caller| event_feed(caller, after.as_deref(), run.as_deref())).await;
    let feed = match opened {
        Ok(Some(feed)) => feed,
        Ok(None) => return Err(ApiError::missing("run", query.run.as_deref().unwrap_or_default())),
        Err(error) => return Err(ApiError::of_view(&site, &error)),
    };
    let key = guard::login_key(&site, &headers).unwrap_or_default().to_owned();
    let followed = FollowedEvents { log, site, key, feed: Some(feed), ready: VecDeque::new(), _place: place };
    let events = stream::unfold(followed, |mut followed| async move {
        let event = followed.next_event().await?;
        Some((Ok::<_, Infallible>(event), followed))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response())
}

/// Events that a program follows.
struct FollowedEvents {
    log: LogWatch,
    site: Site,
    /// The key of the program.
    key: String,
    /// `None` once it cannot be read any more.
    feed: Option<EventFeed>,
    /// The events that were read and not sent.
    ready: VecDeque<Event>,
    _place: StreamPlace,
}

impl FollowedEvents {
    /// Waits for the next event; `None` once the login has ended, or the state cannot be read.
    async fn next_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if !self.site.logins.is_open(&self.key, self.site.host().now()) {
                return None;
            }
            self.log.mark_unchanged();
            let mut feed = self.feed.take()?;
            let read = self.site.read_stream(move |caller| {
                let batch = feed.next_batch(caller)?;
                Ok((feed, written(&batch)?, batch.has_more))
            });
            let (feed, ready, has_more) = read.await.ok()?;
            (self.feed, self.ready) = (Some(feed), ready);
            if self.ready.is_empty() && !has_more {
                tokio::select! {
                    changed = self.log.changed() => changed?,
                    () = tokio::time::sleep(LOGIN_INTERVAL) => {}
                }
            }
        }
    }
}

/// Writes the events of a batch.
fn written(batch: &ApiEventBatch) -> Result<VecDeque<Event>, CommandError> {
    let mut written = VecDeque::new();
    if let Some((reason, cursor)) = &batch.lost {
        let data = json!({"reason": reason}).to_string();
        written.push_back(Event::default().event("lost").id(cursor.to_string()).data(data));
    }
    for event in &batch.events {
        let (kind, text) = event.kind_and_text()?;
        written.push_back(Event::default().event(kind).id(event.cursor.to_string()).data(text));
    }
    Ok(written)
}

/// Sends the output of an attempt as text: what is there, or until the attempt ends.
pub(super) async fn log(
    State(site): State<Site>,
    Path((run, step)): Path<(String, String)>,
    ApiQuery(query): ApiQuery<ApiOutputQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let Some(place) = site.limits.open_stream() else {
        return Ok(no_stream(&site, &headers));
    };
    let (name, is_followed) = (format!("{run}/{step}"), query.follow);
    let opened = site.read_stream(move |caller| api_feed(caller, &run, &step, &query)).await;
    let feed = match opened {
        Ok(Some(feed)) => feed,
        Ok(None) => return Err(ApiError::missing("attempt of", &name)),
        Err(error) => return Err(ApiError::of_view(&site, &error)),
    };
    let key = guard::login_key(&site, &headers).unwrap_or_default().to_owned();
    let followed = FollowedLog::new(site, key, feed, is_followed, place);
    let parts = stream::unfold(followed, |mut followed| async move {
        let part = followed.next_part().await?;
        Some((Ok::<_, Infallible>(part.text), followed))
    });
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], respond::streamed(parts)).into_response())
}
