use serde_json::{Value, json};

use super::write::EventText;
use crate::server::ClientApi;

/// Writes the body of a refusal.
pub fn write_error(api: ClientApi, status: u16, message: &str) -> String {
    error_json(api, status, message).to_string()
}

/// Writes the event of an error, for a stream that has begun.
pub fn write_error_event(api: ClientApi, status: u16, message: &str) -> String {
    let mut events = EventText::default();
    match api {
        ClientApi::Anthropic => events.typed("error", error_json(api, status, message)),
        ClientApi::OpenaiChat => events.data(&error_json(api, status, message)),
        ClientApi::OpenaiResponses => {
            let error = json!({"code": stream_code(status), "message": message});
            let response = json!({"object": "response", "status": "failed", "error": error, "output": []});
            events.numbered("response.failed", json!({"response": response}));
        }
    }
    events.finish()
}

fn error_json(api: ClientApi, status: u16, message: &str) -> Value {
    match api {
        ClientApi::Anthropic => {
            json!({"type": "error", "error": {"type": anthropic_type(status), "message": message}})
        }
        ClientApi::OpenaiChat | ClientApi::OpenaiResponses => {
            let kind = openai_type(status);
            json!({"error": {"message": message, "type": kind, "param": null, "code": openai_code(status)}})
        }
    }
}

fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn openai_type(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

fn openai_code(status: u16) -> Option<&'static str> {
    match status {
        401 => Some("invalid_api_key"),
        429 => Some("rate_limit_exceeded"),
        _ => None,
    }
}

/// Returns the word for an error within a stream. Clients repeat a request unless the word says that it is refused.
fn stream_code(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_prompt",
    }
}
