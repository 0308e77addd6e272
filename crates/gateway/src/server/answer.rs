use std::{sync::Arc, time::Duration};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue},
};
use serde_json::json;

use super::{
    CallRefusal, ClientApi, ClientCalls, ClientRequest, ClientToken, ReplyBody,
    body::{AnswerBody, PendingText, read_body},
    read_request,
    route::{ClientRoute, api_of_path, random_hex, refuse},
    write_error, write_error_event, write_reply,
};

/// The longest time for the body of a request to arrive.
const BODY_TIMEOUT: Duration = Duration::from_mins(2);

/// The parts the answers to all requests share.
#[derive(Clone)]
pub(super) struct ClientService {
    pub(super) token: ClientToken,
    pub(super) calls: Arc<dyn ClientCalls>,
    /// The time between two keep-alive events of a stream.
    pub(super) keep_alive: Duration,
}

impl ClientService {
    pub(super) async fn answer(self, request: Request<Incoming>) -> Response<AnswerBody> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let api = api_of_path(&path);
        let route = match ClientRoute::find_route(&method, &path, request.headers(), &self.token) {
            Ok(route) => route,
            Err(refusal) => return refused(api, &path, &refusal),
        };
        let answered = match route {
            ClientRoute::Ready => Ok(respond(StatusCode::OK, TEXT, AnswerBody::from_text("ready\n".into()))),
            ClientRoute::Models => {
                Ok(json_response(json!({"object": "list", "data": [], "models": []}).to_string()))
            }
            ClientRoute::CountTokens => self.count_tokens(request).await,
            ClientRoute::Call(api) => self.call(api, request).await,
        };
        let mut response = answered.unwrap_or_else(|refusal| refused(api, &path, &refusal));
        if method == Method::HEAD {
            *response.body_mut() = AnswerBody::Whole(None);
        }
        response
    }

    async fn count_tokens(self, request: Request<Incoming>) -> Result<Response<AnswerBody>, CallRefusal> {
        let client_request = read(ClientApi::Anthropic, request).await?;
        Ok(json_response(json!({"input_tokens": client_request.request.estimated_tokens()}).to_string()))
    }

    /// Calls a model. A stream begins when the first keep-alive event is due, and not before: until then a refusal has its
    /// own status, so clients know that they need not try again.
    async fn call(
        self,
        api: ClientApi,
        request: Request<Incoming>,
    ) -> Result<Response<AnswerBody>, CallRefusal> {
        let client_request = read(api, request).await?;
        let no_id =
            |error: super::NoRandomBytes| refuse(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
        let id = random_hex::<12>().map_err(no_id)?;
        let (stream, keep_alive) = (client_request.stream, self.keep_alive);
        let mut reply = Box::pin(async move {
            let reply = self.calls.call(client_request.clone()).await?;
            Ok(write_reply(&client_request, &reply, &id))
        });
        if !stream {
            return reply.await.map(whole);
        }
        if let Ok(done) = tokio::time::timeout(keep_alive, &mut reply).await {
            return done.map(whole);
        }
        let rest: PendingText = Box::pin(async move {
            match reply.await {
                Ok(ReplyBody::Events(text) | ReplyBody::Json(text)) => text,
                Err(CallRefusal { status, reason }) => write_error_event(api, status, &reason),
            }
        });
        let body = AnswerBody::kept_alive(keep_alive_event(api), keep_alive, rest);
        Ok(respond(StatusCode::OK, EVENTS, body))
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

async fn read(api: ClientApi, request: Request<Incoming>) -> Result<ClientRequest, CallRefusal> {
    let (head, body) = request.into_parts();
    let arrived = tokio::time::timeout(BODY_TIMEOUT, read_body(&head.headers, body)).await;
    let late = |_| refuse(StatusCode::REQUEST_TIMEOUT, "the body did not arrive within two minutes");
    let text = arrived.map_err(late)??;
    read_request(api, &text).map_err(|error| refuse(StatusCode::BAD_REQUEST, error.to_string()))
}

/// Returns events without content, counted as activity by clients.
fn keep_alive_event(api: ClientApi) -> &'static str {
    match api {
        ClientApi::Anthropic => "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        ClientApi::OpenaiChat => ": keep-alive\n\n",
        // Codex waits for events, and a comment is none.
        ClientApi::OpenaiResponses => "event: keepalive\ndata: {\"type\":\"keepalive\"}\n\n",
    }
}

fn whole(body: ReplyBody) -> Response<AnswerBody> {
    match body {
        ReplyBody::Json(text) => json_response(text),
        ReplyBody::Events(text) => respond(StatusCode::OK, EVENTS, AnswerBody::from_text(text)),
    }
}

fn refused(api: ClientApi, path: &str, refusal: &CallRefusal) -> Response<AnswerBody> {
    // A status that is none is a mistake of this program.
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = write_error(api, status.as_u16(), &refusal.reason);
    let mut response = respond(status, JSON, AnswerBody::from_text(body));
    if status == StatusCode::METHOD_NOT_ALLOWED
        && let Some(route) = ClientRoute::of_path(path)
    {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static(route.allowed()));
    }
    response
}

fn json_response(text: String) -> Response<AnswerBody> {
    respond(StatusCode::OK, JSON, AnswerBody::from_text(text))
}

fn respond(status: StatusCode, content_type: &'static str, body: AnswerBody) -> Response<AnswerBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
