use std::{ops::Deref, time::Duration};

use reqwest::Response;
use tokio::time::timeout;

use super::ClientLimits;
use crate::{
    retry::{ModelFailure, ModelFailureKind, classify_wire},
    sse::SseParser,
    wire::ReplyStream,
};

/// The part of an error's body that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The maximum time for reading the body of an error.
const ERROR_TIME: Duration = Duration::from_secs(5);

/// Reads a stream of events into `stream`, up to the event after which none matters.
pub(super) async fn receive_stream(
    answer: &mut Response,
    limits: &ClientLimits,
    stream: &mut dyn ReplyStream,
) -> Result<(), ModelFailure> {
    let mut parser = SseParser::new(limits.body);
    let mut events = Vec::new();
    let mut size = 0;
    while let Some(bytes) = next_chunk(answer, limits, &mut size).await? {
        let parsed = parser.push(&bytes, &mut events);
        for event in events.drain(..) {
            stream.take(&event).map_err(|error| classify_wire(&error))?;
            if stream.is_done() {
                return Ok(());
            }
        }
        parsed.map_err(|error| classify_wire(&error.into()))?;
    }
    Ok(())
}

/// Reads a whole body as text.
pub(super) async fn receive_text(
    answer: &mut Response,
    limits: &ClientLimits,
) -> Result<String, ModelFailure> {
    let mut body = Vec::new();
    let mut size = 0;
    while let Some(bytes) = next_chunk(answer, limits, &mut size).await? {
        body.extend_from_slice(&bytes);
    }
    String::from_utf8(body).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("the reply is not valid UTF-8 (at byte {at}): check `base_url` in wf.yaml");
        ModelFailure::new(ModelFailureKind::BadReply, message)
    })
}

/// Reads the beginning of an error's body. It only explains, so no failure matters.
pub(super) async fn receive_error(answer: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = answer.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() >= MAX_ERROR_BYTES {
                break;
            }
        }
    };
    let _ = timeout(ERROR_TIME, read).await;
    body.truncate(MAX_ERROR_BYTES);
    body
}

async fn next_chunk(
    answer: &mut Response,
    limits: &ClientLimits,
    size: &mut usize,
) -> Result<Option<impl Deref<Target = [u8]> + use<>>, ModelFailure> {
    let Ok(read) = timeout(limits.idle, answer.chunk()).await else {
        let message = format!("the provider sent nothing for {} s", limits.idle.as_secs_f64());
        return Err(ModelFailure::new(ModelFailureKind::TimedOut, message));
    };
    let chunk = read.map_err(|error| {
        let message = format!("the reply broke off: {}", super::provider::cause(&error));
        ModelFailure::new(ModelFailureKind::BrokenStream, message)
    })?;
    *size += chunk.as_deref().map_or(0, <[u8]>::len);
    if *size > limits.body {
        let message = format!(
            "the reply exceeds {} and was cut off: lower `max_output`, or check `base_url` in wf.yaml",
            wf_base::units::size(limits.body as u64)
        );
        return Err(ModelFailure::new(ModelFailureKind::ReplyTooLarge, message));
    }
    Ok(chunk)
}
