use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read as _},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use serde_json::Value;

use crate::{
    answer::McpAnswer,
    call::ToolCaller,
    program::WfProgram,
    reply::{McpError, result_reply},
    session::{McpAction, McpCall, McpSession},
    wait::CallStop,
};

/// The maximum size of a message, in bytes.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// The maximum number of calls at a time: each is a process.
const MAX_CALLS: usize = 16;

/// The calls under way, by the ids of their requests as JSON.
type OpenCalls = Mutex<BTreeMap<String, Arc<CallStop>>>;

/// Serves a client until its messages end, and the calls it made. `send` sends a line, and returns false if
/// the client is gone.
pub fn serve(
    program: &WfProgram,
    mut input: impl BufRead,
    send: &(dyn Fn(&str) -> bool + Sync),
) -> io::Result<()> {
    let caller = ToolCaller::new(program);
    let open = OpenCalls::default();
    let tell = |message: &Value| send(&format!("{message}\n"));
    let mut session = McpSession::default();
    thread::scope(|scope| {
        let ended = loop {
            let action = match next_line(&mut input) {
                Ok(Some(NextLine::Whole(line))) if line.trim_ascii().is_empty() => continue,
                Ok(Some(NextLine::Whole(line))) => session.take(&line),
                Ok(Some(NextLine::TooLong)) => {
                    McpAction::Reply(McpError::TooLong(MAX_LINE).reply(&Value::Null))
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let stays = match action {
                McpAction::Nothing => true,
                McpAction::Reply(reply) => tell(&reply),
                McpAction::Cancel(id) => {
                    // An answer is no longer wanted.
                    if let Some(stop) = lock(&open).get(&id.to_string()) {
                        stop.cancel();
                    }
                    true
                }
                McpAction::Call(call) => match enter(&open, &call) {
                    Err(refusal) => tell(&refusal),
                    Ok(stop) => {
                        let (caller, open, tell) = (&caller, &open, &tell);
                        scope.spawn(move || {
                            let (id, stateless) = (call.id.clone(), call.stateless);
                            let answer = caller.call(call, &stop);
                            lock(open).remove(&id.to_string());
                            if !stop.is_cancelled() && !tell(&result_reply(&id, stateless, answer.result())) {
                                lock(open).values().for_each(|stop| stop.cancel());
                            }
                        });
                        true
                    }
                },
            };
            if !stays {
                lock(&open).values().for_each(|stop| stop.cancel());
                break Ok(());
            }
        };
        // What was asked is still answered, but nothing is waited for.
        lock(&open).values().for_each(|stop| stop.hurry());
        ended
    })
}

/// Enters a call, or returns the reply that refuses it.
fn enter(open: &OpenCalls, call: &McpCall) -> Result<Arc<CallStop>, Value> {
    let mut open = lock(open);
    let key = call.id.to_string();
    if open.contains_key(&key) {
        return Err(McpError::NotARequest("`id` is that of a request under way").reply(&call.id));
    }
    if open.len() >= MAX_CALLS {
        let text = format!("error: {MAX_CALLS} calls are under way\nhint: wait until one has ended");
        return Err(result_reply(&call.id, call.stateless, McpAnswer::error(&text).result()));
    }
    let stop = Arc::new(CallStop::default());
    open.insert(key, Arc::clone(&stop));
    Ok(stop)
}

fn lock(open: &OpenCalls) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<CallStop>>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, PartialEq, Eq)]
enum NextLine {
    Whole(Vec<u8>),
    TooLong,
}

/// Reads a line; `None` at the end. What is too long is read, and forgotten.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<NextLine>> {
    let mut line = Vec::new();
    let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
    if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.len() < MAX_LINE || line.ends_with(b"\n") {
        return Ok(Some(NextLine::Whole(line)));
    }
    loop {
        let read = input.fill_buf()?;
        let (end, is_over) = match read.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (read.len(), read.is_empty()),
        };
        input.consume(end);
        if is_over {
            return Ok(Some(NextLine::TooLong));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{MAX_LINE, NextLine, next_line};

    #[test]
    fn a_line_of_any_length_is_one_line() {
        let mut text = vec![b'x'; 3 * MAX_LINE];
        text.extend(b"\nshort\nlast");
        let mut input = BufReader::new(text.as_slice());
        assert_eq!(next_line(&mut input).unwrap(), Some(NextLine::TooLong));
        assert_eq!(next_line(&mut input).unwrap(), Some(NextLine::Whole(b"short\n".to_vec())));
        assert_eq!(next_line(&mut input).unwrap(), Some(NextLine::Whole(b"last".to_vec())));
        assert_eq!(next_line(&mut input).unwrap(), None);
    }
}
