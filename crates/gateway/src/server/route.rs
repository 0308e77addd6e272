use super::{CallRefusal, ClientApi};
use hyper::{
    Method, StatusCode,
    header::{AUTHORIZATION, HeaderMap, PROXY_AUTHORIZATION},
};
use std::{fmt, hint::black_box};

/// The headers with a key alone.
const KEYS: [&str; 2] = ["x-api-key", "api-key"];

/// A service of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientRoute {
    /// It answers that it is there, to anybody.
    Ready,
    /// A call of a model.
    Call(ClientApi),
    /// An estimate of the tokens of a request.
    CountTokens,
    /// The empty list of the models: whoever started the client names one.
    Models,
}

impl ClientRoute {
    /// Finds the service of a request, and checks the token.
    pub(super) fn find_route(
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        token: &ClientToken,
    ) -> Result<Self, CallRefusal> {
        let route = Self::of_path(path);
        // The first request of a client may be one that tests the connection, without a token.
        if route != Some(Self::Ready) {
            check_token(headers, token)?;
        }
        let route = route.ok_or_else(|| {
            let routes = "POST /v1/messages, /v1/messages/count_tokens, /v1/chat/completions or /v1/responses, and \
                         GET /v1/models";
            refuse(StatusCode::NOT_FOUND, format!("there is no {path:?} here: use {routes}"))
        })?;
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let is_post = matches!(route, Self::Call(_) | Self::CountTokens);
        if (is_post && *method != Method::POST) || (!is_post && !reads) {
            let allowed = route.allowed();
            let message = format!("{path} is not for {method}: use {allowed}");
            return Err(refuse(StatusCode::METHOD_NOT_ALLOWED, message));
        }
        Ok(route)
    }

    pub(super) fn of_path(path: &str) -> Option<Self> {
        if path == "/" {
            return Some(Self::Ready);
        }
        // Some clients have the version in the address of the server, others add it.
        Some(match path.strip_prefix("/v1").unwrap_or(path) {
            "/messages" => Self::Call(ClientApi::Anthropic),
            "/messages/count_tokens" => Self::CountTokens,
            "/chat/completions" => Self::Call(ClientApi::OpenaiChat),
            "/responses" => Self::Call(ClientApi::OpenaiResponses),
            "/models" => Self::Models,
            _ => return None,
        })
    }

    /// Returns the methods it supports.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Ready | Self::Models => "GET, HEAD",
            Self::Call(_) | Self::CountTokens => "POST",
        }
    }
}

/// Returns the format in which a refusal is written.
pub(super) fn api_of_path(path: &str) -> ClientApi {
    match ClientRoute::of_path(path) {
        Some(ClientRoute::Call(api)) => api,
        Some(ClientRoute::CountTokens) => ClientApi::Anthropic,
        _ => ClientApi::OpenaiChat,
    }
}

pub(super) fn refuse(status: StatusCode, reason: impl Into<String>) -> CallRefusal {
    CallRefusal::new(status.as_u16(), reason)
}

/// Checks that there is a token, and no other credential, meant for another service.
fn check_token(headers: &HeaderMap, token: &ClientToken) -> Result<(), CallRefusal> {
    let bearers =
        [AUTHORIZATION, PROXY_AUTHORIZATION].map(|name| headers.get_all(name)).into_iter().flatten();
    let bearers = bearers.map(|value| {
        let (scheme, rest) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
    });
    let keys = KEYS.map(|name| headers.get_all(name)).into_iter().flatten().map(|value| value.to_str().ok());
    let credentials: Vec<Option<&str>> = bearers.chain(keys).collect();
    if credentials.is_empty() {
        let reason = "there is no token: send that of the attempt as x-api-key or authorization: Bearer";
        return Err(refuse(StatusCode::UNAUTHORIZED, reason));
    }
    if credentials.into_iter().all(|text| text.is_some_and(|text| token.is(text))) {
        return Ok(());
    }
    let reason = "this token is not the one of the attempt: send that one, and no other credential";
    Err(refuse(StatusCode::UNAUTHORIZED, reason))
}

/// The token by which a program may call models, for as long as its attempt lasts. Nothing shows it.
#[derive(Clone)]
pub struct ClientToken(String);

/// The system has no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read random bytes from the system: {0}")]
pub struct NoRandomBytes(#[from] getrandom::Error);

impl ClientToken {
    /// Makes a token of 256 random bits.
    pub fn random() -> Result<Self, NoRandomBytes> {
        Ok(Self(random_hex::<32>()?))
    }

    /// Returns the token, for the environment of the program.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True if a text is the token. It takes as long for any text of the same length, so nothing can be guessed
    /// piece by piece.
    pub(super) fn is(&self, text: &str) -> bool {
        let (own, other) = (self.0.as_bytes(), text.as_bytes());
        let differences = own.iter().zip(other).fold(0, |bits, (one, two)| black_box(bits | (one ^ two)));
        own.len() == other.len() && differences == 0
    }
}

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientToken([token])")
    }
}

/// Returns random bytes as hexadecimal digits.
pub(super) fn random_hex<const COUNT: usize>() -> Result<String, NoRandomBytes> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
