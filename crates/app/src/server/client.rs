//! Requests to a server, each with its answer, or the refusal as an error of this program.

use std::{borrow::Cow, path::Path, time::Duration};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::{ServerAddress, server_key};
use crate::{CliExitCode, CommandError, Host, usage_error};
use wf_base::untrusted::{plain, shell_word};
use wf_exec::{
    HostEnv,
    http::{HttpAnswer, HttpClient, HttpExchange},
};

/// The largest document that is read, in bytes.
const MAX_DOCUMENT: usize = 64 * 1024 * 1024;

/// The longest time for a document to come.
const DOCUMENT_TIMEOUT: Duration = Duration::from_mins(2);

/// A server elsewhere, with a key for it.
pub struct ServerClient {
    address: ServerAddress,
    key: String,
    options: String,
    http: HttpClient,
    runtime: Runtime,
}

/// A refusal, as a server writes it.
#[derive(Deserialize)]
struct ServerRefusal {
    error: RefusedReason,
}

/// The reason of a refusal.
#[derive(Deserialize)]
struct RefusedReason {
    code: String,
    message: String,
    remedy: Option<String>,
    place: Option<String>,
}

impl ServerClient {
    /// Prepares requests to a server, with the key in a file or in the environment.
    pub fn new(host: &Host, server: &str, key_file: Option<&Path>) -> Result<Self, CommandError> {
        let address = ServerAddress::parse(server)?;
        let key = server_key(host, key_file)?;
        // A proxy for others has no business between this program and its own machine.
        let proxies = if address.is_local() { HostEnv::default() } else { host.vars().into_iter().collect() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CommandError::new(CliExitCode::State, error.to_string()))?;
        let mut options = format!("--server {}", address.origin());
        if let Some(file) = key_file {
            options += &format!(" --server-key {}", shell_word(&file.to_string_lossy()));
        }
        Ok(Self { address, key, options, http: HttpClient::new(&proxies), runtime })
    }

    /// Returns the scheme, host and port of the server.
    pub fn origin(&self) -> &str {
        self.address.origin()
    }

    /// Returns the options for the server, and for the file with its key, on a command line.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// Reads a document.
    pub fn document<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        self.read(&self.get(path, "application/json"))
    }

    /// Reads the text for people.
    pub fn text(&self, path: &str) -> Result<String, CommandError> {
        let mut answer = self.send(self.get(path, "text/plain"))?;
        if !answer.is_of_type("text/plain") {
            return Err(self.is_other("its answer is no text"));
        }
        Ok(String::from_utf8_lossy(&self.whole(&mut answer)?).into_owned())
    }

    /// Reads a body part by part.
    pub fn download(
        &self,
        path: &str,
        write: &mut dyn FnMut(&[u8]) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let mut answer = self.send(self.get(path, "*/*"))?;
        while let Some(part) = self.next_part(&mut answer, None)? {
            write(&part)?;
        }
        Ok(())
    }

    /// Sends a document, and reads the answer. The key of the request lets it be sent again.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> Result<T, CommandError> {
        let mut exchange = self.get(path, "application/json");
        exchange.method = "POST";
        exchange.headers.push(("content-type".into(), "application/json".to_owned()));
        exchange.headers.extend(key.map(|key| (Cow::from("idempotency-key"), key.to_owned())));
        exchange.body = body.to_string();
        self.read(&exchange)
    }

    /// Opens a stream of events behind a place; empty: from its beginning.
    pub(super) fn events(&self, path: &str, after: &str) -> Result<HttpAnswer, CommandError> {
        let mut exchange = self.get(path, "text/event-stream");
        if !after.is_empty() {
            exchange.headers.push(("last-event-id".into(), after.to_owned()));
        }
        self.send(exchange)
    }

    /// Waits for the next part of a body; `None` at the end. A part that does not come within some time is an empty one.
    pub(super) fn next_part(
        &self,
        answer: &mut HttpAnswer,
        wait: Option<Duration>,
    ) -> Result<Option<Vec<u8>>, CommandError> {
        let part = self.runtime.block_on(async {
            match wait {
                None => answer.next_part().await,
                Some(wait) => {
                    tokio::time::timeout(wait, answer.next_part()).await.unwrap_or(Ok(Some(Vec::new())))
                }
            }
        });
        part.map_err(|error| CommandError::new(CliExitCode::State, error.reason))
    }

    fn get(&self, path: &str, accept: &str) -> HttpExchange {
        let headers = vec![
            ("authorization".into(), format!("Bearer {}", self.key)),
            ("accept".into(), accept.to_owned()),
        ];
        HttpExchange { method: "GET", url: self.address.url(path), headers, body: String::new() }
    }

    fn read<T: DeserializeOwned>(&self, exchange: &HttpExchange) -> Result<T, CommandError> {
        let bytes = self.bytes(exchange)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.is_other(&format!("its answer is another one: {error}")))
    }

    fn bytes(&self, exchange: &HttpExchange) -> Result<Vec<u8>, CommandError> {
        let mut answer = self.send(exchange.clone())?;
        self.whole(&mut answer)
    }

    fn whole(&self, answer: &mut HttpAnswer) -> Result<Vec<u8>, CommandError> {
        let failed = |reason: String| CommandError::new(CliExitCode::State, reason);
        let read = async {
            let mut bytes = Vec::new();
            while let Some(part) = answer.next_part().await.map_err(|error| failed(error.reason))? {
                bytes.extend(part);
                if bytes.len() > MAX_DOCUMENT {
                    return Err(self.is_other("its answer is too large"));
                }
            }
            Ok(bytes)
        };
        let read = self.runtime.block_on(async { tokio::time::timeout(DOCUMENT_TIMEOUT, read).await });
        read.unwrap_or_else(|_| {
            Err(failed(format!("{} took longer than two minutes to answer", self.origin())))
        })
    }

    fn send(&self, exchange: HttpExchange) -> Result<HttpAnswer, CommandError> {
        let sent = self.runtime.block_on(self.http.exchange_with(exchange));
        let mut answer = sent.map_err(|error| {
            CommandError::new(CliExitCode::State, error.reason)
                .hint("is the server running, and can it be reached from here?")
        })?;
        if (200..300).contains(&answer.status()) {
            return Ok(answer);
        }
        let status = answer.status();
        let bytes = self.whole(&mut answer)?;
        Err(match serde_json::from_slice::<ServerRefusal>(&bytes) {
            Ok(refusal) => refused(refusal.error),
            Err(_) => self.is_other(&format!("it answers with status {status}")),
        })
    }

    /// Returns the error about a server that is no such server.
    pub(super) fn is_other(&self, reason: &str) -> CommandError {
        usage_error(format!("{} does not serve a workspace of this version: {reason}", self.origin()))
    }
}

/// Returns a refusal as an error of this program.
fn refused(reason: RefusedReason) -> CommandError {
    let exit = match reason.code.as_str() {
        "signature_required" => CliExitCode::Approval,
        "unavailable" | "too_many_requests" | "internal" => CliExitCode::State,
        _ => CliExitCode::Usage,
    };
    let place = reason.place.filter(|place| place.starts_with('/')).map(|place| format!(" ({place})"));
    let error = CommandError::new(exit, plain(&(reason.message + place.as_deref().unwrap_or_default())));
    if reason.code == "unauthorized" {
        return error.hint(
            "the key in the file, or in `WF_SERVER_KEY`, is none of that server, or has ended: have a new one made there",
        );
    }
    match reason.remedy {
        Some(remedy) => error.hint(plain(&remedy)),
        None => error,
    }
}

/// Returns a text as a part of a path.
pub fn path_part(text: &str) -> String {
    let mut part = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            part.push(char::from(byte));
        } else {
            part += &format!("%{byte:02X}");
        }
    }
    part
}
