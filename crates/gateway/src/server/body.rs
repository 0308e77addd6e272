use std::{
    pin::Pin,
    task::{Context, Poll},
};

use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Bytes, Frame, Incoming, SizeHint},
    header::CONTENT_ENCODING,
};
use std::{convert::Infallible, future::poll_fn, time::Duration};
use tokio::time::{Interval, MissedTickBehavior};

use super::{CallRefusal, route::refuse};

/// The longest body of a request, in bytes.
pub(super) const MAX_BODY: usize = 32 * 1024 * 1024;

/// The part of a longer body to be read and thrown away. Otherwise many clients do not read the refusal.
const MAX_DISCARDED: usize = 4 * MAX_BODY;

/// The end of a reply that is still being made.
pub(super) type PendingText = Pin<Box<dyn Future<Output = String> + Send>>;

/// The body of an answer.
pub(super) enum AnswerBody {
    /// A text; `None`: it was sent.
    Whole(Option<Bytes>),
    /// A stream of events, kept alive until the rest is there.
    KeptAlive {
        /// The event saying nothing.
        event: &'static str,
        /// The times when it is sent.
        times: Interval,
        /// The rest of the stream.
        rest: PendingText,
    },
}

impl AnswerBody {
    pub(super) fn from_text(text: String) -> Self {
        Self::Whole(Some(text.into()))
    }

    /// Returns a stream whose rest is not there yet.
    pub(super) fn kept_alive(event: &'static str, period: Duration, rest: PendingText) -> Self {
        let mut times = tokio::time::interval(period);
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self::KeptAlive { event, times, rest }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |bytes: Bytes| Poll::Ready(Some(Ok(Frame::data(bytes))));
        match &mut *self {
            Self::Whole(bytes) => bytes.take().map_or(Poll::Ready(None), frame),
            Self::KeptAlive { event, times, rest } => {
                if let Poll::Ready(text) = rest.as_mut().poll(context) {
                    *self = Self::Whole(None);
                    return frame(text.into());
                }
                let event = Bytes::from_static(event.as_bytes());
                times.poll_tick(context).map(|_| Some(Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::KeptAlive { .. } => SizeHint::default(),
        }
    }
}

/// Reads the body of a request.
pub(super) async fn read_body(headers: &HeaderMap, mut body: Incoming) -> Result<String, CallRefusal> {
    if let Some(coding) = headers.get(CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let reason = format!("the body is encoded as {coding:?}: send it plain");
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, reason));
    }
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let broken =
            |error: hyper::Error| refuse(StatusCode::BAD_REQUEST, format!("the body broke off: {error}"));
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        length += data.len();
        if length <= MAX_BODY {
            bytes.extend_from_slice(&data);
        } else if length > MAX_DISCARDED {
            break;
        }
    }
    if length > MAX_BODY {
        let reason = format!("the body is longer than {} MiB: send less of the conversation", MAX_BODY >> 20);
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, reason));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refuse(StatusCode::BAD_REQUEST, format!("the body is not UTF-8 at byte {at}"))
    })
}
