//! The output of an attempt: as it comes, for the script of a page, and whole, for everyone.
//!
//! A reader takes one part after another, so one that is slow holds one part in memory and waits for itself alone.

use futures_util::stream;
use std::{convert::Infallible, time::Duration};

use axum::{
    extract::{Path, State},
    http::{HeaderMap, header::CONTENT_TYPE},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use serde::Deserialize;

use crate::{
    changes::{KEEP_ALIVE, LogWatch},
    guard,
    limits::{StreamPlace, no_stream},
    query::PageQuery,
    respond,
    site::Site,
};
use wf_app::{
    CommandError,
    views::{LogFeed, LogPart, LogStart, log_feed},
};

/// The pause between two looks at a log to which nothing was added.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// An attempt and a place in its output, as the address has them.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct LogQuery {
    attempt: u32,
    /// The offset from which it is read; absent: the recent lines.
    from: Option<u64>,
}

/// The output of an attempt as server-sent events, until the attempt ends. The id of an event is the offset from
/// which a returning browser goes on.
pub(crate) async fn stream(
    State(site): State<Site>,
    Path((run, task)): Path<(String, String)>,
    PageQuery(query): PageQuery<LogQuery>,
    headers: HeaderMap,
) -> Response {
    let last_id = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let start = last_id.or(query.from).map_or(LogStart::Recent, LogStart::Offset);
    let Some(place) = site.limits.open_stream() else {
        return no_stream(&site, &headers);
    };
    let opened = site.read_stream(move |caller| log_feed(caller, &run, &task, query.attempt, start));
    match opened.await {
        Ok(Some(feed)) => {
            let key = guard::login_key(&site, &headers).unwrap_or_default().to_owned();
            let followed = FollowedLog::new(site, key, feed, true, place);
            let events = stream::unfold(followed, |mut followed| async move {
                let event = followed.next_event().await?;
                Some((Ok::<_, Infallible>(event), followed))
            });
            Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
        }
        Ok(None) => respond::missing(&site),
        Err(error) => respond::failure(&site, &error),
    }
}

/// The whole output of an attempt, as far as it is there.
pub(crate) async fn whole(
    State(site): State<Site>,
    Path((run, task)): Path<(String, String)>,
    PageQuery(LogQuery { attempt, .. }): PageQuery<LogQuery>,
) -> Response {
    let opened = site.read(move |caller| log_feed(caller, &run, &task, attempt, LogStart::Offset(0)));
    match opened.await {
        Ok(Some(feed)) => {
            let parts = stream::unfold((site, feed), |(site, feed)| async move {
                match next_part(&site, feed, true).await {
                    Ok((feed, part)) => part.map(|part| (Ok::<_, Infallible>(part.text), (site, feed))),
                    Err(_) => None,
                }
            });
            ([(CONTENT_TYPE, "text/plain; charset=utf-8")], respond::streamed(parts)).into_response()
        }
        Ok(None) => respond::missing(&site),
        Err(error) => respond::failure(&site, &error),
    }
}

/// A log that a browser or a program follows.
pub(crate) struct FollowedLog {
    site: Site,
    /// The key of its reader.
    key: String,
    /// The end of the database's log: an attempt cannot end unless it grows.
    log: LogWatch,
    /// `None` after the last event.
    feed: Option<LogFeed>,
    /// True if the attempt had ended when it was looked at; `None`: nobody looked yet.
    is_over: Option<bool>,
    /// False: it ends with what is there.
    is_followed: bool,
    /// True once all of it was read, until that is said.
    is_at_end: bool,
    _place: StreamPlace,
}

impl FollowedLog {
    /// Follows a log until its attempt ends, or reads what is there.
    pub fn new(site: Site, key: String, feed: LogFeed, is_followed: bool, place: StreamPlace) -> Self {
        let is_over = if is_followed { None } else { Some(true) };
        let log = site.log.clone();
        Self { site, key, log, feed: Some(feed), is_over, is_followed, is_at_end: false, _place: place }
    }

    /// Waits for the next event; `None` after the one with the end of the attempt, and once the login has ended.
    async fn next_event(&mut self) -> Option<Event> {
        match self.next_part().await {
            Some(part) => Some(part_event(&part)),
            // Browsers ignore an event without data.
            None if std::mem::take(&mut self.is_at_end) => Some(Event::default().event("end").data("over")),
            None => None,
        }
    }

    /// Waits for the next part; `None` at its end, and once the login has ended.
    pub async fn next_part(&mut self) -> Option<LogPart> {
        loop {
            if !self.site.logins.is_open(&self.key, self.site.host().now()) {
                return None;
            }
            let mut feed = self.feed.take()?;
            let has_news = self.is_followed && self.log.has_changed();
            if self.is_over.is_none() || has_news {
                self.log.mark_unchanged();
                let looked =
                    self.site.read_stream(move |caller| Ok((feed.is_over(caller)?, feed))).await.ok()?;
                (self.is_over, feed) = (Some(looked.0), looked.1);
            }
            let is_over = self.is_over == Some(true);
            let (feed, part) = next_part(&self.site, feed, is_over).await.ok()?;
            match part {
                Some(part) => {
                    self.feed = Some(feed);
                    return Some(part);
                }
                None if is_over => {
                    self.is_at_end = true;
                    return None;
                }
                None => self.feed = Some(feed),
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// Reads the next part of a log, away from the answering thread.
async fn next_part(
    site: &Site,
    mut feed: LogFeed,
    is_over: bool,
) -> Result<(LogFeed, Option<LogPart>), CommandError> {
    site.read_stream(move |_| {
        let part = feed.next_part(is_over)?;
        Ok((feed, part))
    })
    .await
}

/// An event with a part of a log. Its data is a JSON string, as lines of an event end where the text has line ends.
fn part_event(part: &LogPart) -> Event {
    let name = if part.begins_rest { "rest" } else { "part" };
    let data = serde_json::Value::from(part.text.as_str()).to_string();
    Event::default().event(name).id(part.offset.to_string()).data(data)
}
