//! Recordings that have only the newest messages of a conversation, made whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use wf_core::agent::Message;

use super::RecordedExchange;
use super::folder::is_recording;

/// The maximum size of a recorded exchange, with those that it continues, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The conversations that were read last, by the names of their recordings without `.json`. Who replays a conversation
/// reads each recording once.
#[derive(Debug, Default)]
pub(super) struct LastRead(Mutex<BTreeMap<String, Vec<Message>>>);

impl LastRead {
    fn take(&self, name: &str) -> Option<Vec<Message>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    fn keep(&self, name: &str, messages: &[Message]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), messages.to_vec());
    }
}

/// Reads an exchange from a file, with the messages of the recordings that it continues.
pub(super) fn read_exchange(path: &Path, last: &LastRead) -> io::Result<RecordedExchange> {
    let mut size = 0;
    let mut exchange = read_file(path, &mut size)?;
    let mut parts = vec![std::mem::take(&mut exchange.request.messages)];
    let mut continued = exchange.continues.take();
    while let Some(name) = continued {
        if let Some(known) = last.take(&name) {
            parts.push(known);
            break;
        }
        let before = path.with_file_name(format!("{name}.json"));
        // A name is no path: what is read is in the folder.
        if !is_recording(Path::new(&format!("{name}.json"))) || parts.len() > MAX_PARTS {
            return Err(io::Error::other(format!("it continues {name:?}, which is no recording of its own")));
        }
        let before = read_file(&before, &mut size);
        let before = before.map_err(|error| io::Error::other(format!("it continues {name}: {error}")))?;
        parts.push(before.request.messages);
        continued = before.continues;
    }
    exchange.request.messages = parts.into_iter().rev().flatten().collect();
    if let Some(name) = path.file_stem().and_then(|name| name.to_str()) {
        last.keep(name, &exchange.request.messages);
    }
    Ok(exchange)
}

/// The maximum number of recordings that one continues: they may name each other in a circle.
const MAX_PARTS: usize = 10_000;

fn read_file(path: &Path, size: &mut u64) -> io::Result<RecordedExchange> {
    // Opening a pipe could wait for ever, and reading a folder or a device fail late.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let file = fs::File::open(path)?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    *size += text.len() as u64;
    if *size > MAX_BYTES {
        let most = wf_base::units::size(MAX_BYTES);
        return Err(io::Error::other(format!("it has more than {most}")));
    }
    Ok(serde_json::from_str(&text)?)
}
