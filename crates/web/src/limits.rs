//! The limits on what is answered at once. A request beyond them waits shortly, and is refused then: no queue grows with a
//! flood, and a flood of one sort of requests leaves room for the others.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{FromRequest as _, Request, State},
    http::{HeaderMap, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    guard::login_key,
    respond::{plain, too_many},
    site::Site,
};

/// The most pages made at once, and the most requests waiting for that.
const MAX_PAGES: usize = 8;
const MAX_WAITING_PAGES: usize = 128;

/// The most requests with a change received and answered at once, and the most waiting.
const MAX_POSTS: usize = 8;
const MAX_WAITING_POSTS: usize = 64;

/// The most streams that are open at once.
const MAX_STREAMS: usize = 256;

/// The longest time a request waits, and the time after which a refused one is sent again.
const MAX_WAIT: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(1);

/// The time after which a refused stream is asked for again: streams last.
const STREAM_RETRY: Duration = Duration::from_secs(5);

/// The longest time for the body of a request to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The limits of a site.
pub(crate) struct RequestLimits {
    page_limit: RequestLimit,
    post_limit: RequestLimit,
    streams: Arc<Semaphore>,
}

/// A limit on requests of one sort.
struct RequestLimit {
    places: Arc<Semaphore>,
    waiting: Semaphore,
}

/// The right of a stream to be open, until it is dropped.
pub(crate) struct StreamPlace {
    _place: OwnedSemaphorePermit,
}

impl RequestLimits {
    /// Creates the limits of a site answering nothing yet.
    pub fn new() -> Self {
        Self {
            page_limit: RequestLimit::new(MAX_PAGES, MAX_WAITING_PAGES),
            post_limit: RequestLimit::new(MAX_POSTS, MAX_WAITING_POSTS),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        }
    }

    /// Returns a place for one more stream; `None` if as many are open as permitted.
    pub fn open_stream(&self) -> Option<StreamPlace> {
        let place = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        Some(StreamPlace { _place: place })
    }
}

impl RequestLimit {
    fn new(places: usize, waiting: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), waiting: Semaphore::new(waiting) }
    }

    /// Waits shortly for a place; `None` if there is none by then, or too many wait already.
    async fn enter(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        let _waiting = self.waiting.try_acquire().ok()?;
        timeout(MAX_WAIT, Arc::clone(&self.places).acquire_owned()).await.ok()?.ok()
    }
}

/// Limits the pages made at once.
pub(crate) async fn limit_pages(State(site): State<Site>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let Some(_place) = site.limits.page_limit.enter().await else {
        let reason = "More pages are asked for than this server can make.";
        return too_many(&site, &headers, StatusCode::SERVICE_UNAVAILABLE, reason, RETRY);
    };
    next.run(request).await
}

/// Limits how often one login changes something, and how many changes are received and made at once.
pub(crate) async fn limit_posts(State(site): State<Site>, request: Request, next: Next) -> Response {
    let headers = request.headers().clone();
    let used = login_key(&site, &headers).map(|key| site.logins.take_post(key, site.host().now()));
    if let Some(Err(wait)) = used {
        let reason = "Nothing was changed: this login sends more than a person can.";
        return too_many(&site, &headers, StatusCode::TOO_MANY_REQUESTS, reason, wait);
    }
    let Some(_place) = site.limits.post_limit.enter().await else {
        let reason = "Nothing was changed: more is sent than this server can record.";
        return too_many(&site, &headers, StatusCode::SERVICE_UNAVAILABLE, reason, RETRY);
    };
    match timeout(BODY_TIMEOUT, with_whole_body(request)).await {
        Ok(Ok(request)) => next.run(request).await,
        Ok(Err(refusal)) => refusal,
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the body of the request did not arrive in time\n"),
    }
}

/// Returns a request whose body has arrived.
async fn with_whole_body(request: Request) -> Result<Request, Response> {
    let (parts, body) = request.into_parts();
    let received = Bytes::from_request(Request::from_parts(parts.clone(), body), &()).await;
    let body = received.map_err(IntoResponse::into_response)?;
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Refuses one more stream than may be open.
pub(crate) fn no_stream(site: &Site, headers: &HeaderMap) -> Response {
    let reason = "As many streams are open as this server permits.";
    too_many(site, headers, StatusCode::SERVICE_UNAVAILABLE, reason, STREAM_RETRY)
}

#[cfg(test)]
mod tests {
    use super::{MAX_WAIT, RequestLimit};

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_shortly_for_a_place() {
        let limit = RequestLimit::new(1, 1);
        let first = limit.enter().await.expect("a place is free");
        let began = tokio::time::Instant::now();
        let (second, third) = tokio::join!(limit.enter(), limit.enter());
        assert!(second.is_none() && third.is_none());
        assert_eq!(began.elapsed(), MAX_WAIT, "one waited, and the other found too many waiting");
        let (second, ()) = tokio::join!(limit.enter(), async { drop(first) });
        assert!(second.is_some(), "the place became free meanwhile");
    }
}
