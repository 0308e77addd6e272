//! A dialogue with a process: lines to its standard input, lines from its standard output.

use std::{future::Future, io, time::Duration};

use rustix::pipe::PipeFlags;
use tokio::{
    io::AsyncWriteExt as _,
    net::unix::pipe,
    sync::{mpsc, watch},
};

use wf_core::machine::WorkExit;

use super::{
    process::{self, ProcessCommand},
    supervise::{OutputSink, ProcessLimits, supervise},
    tails::{LogStream, StreamTails, TailCollector},
    tree,
};
use crate::{
    sandbox,
    work_error::{StopLevel, WorkError},
};

/// The timeout for a process to read a line, from a pipe with room for much more.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The limits of a dialogue.
#[derive(Clone, Copy, Debug)]
pub struct DialogueLimits {
    pub timeout: Duration,
    /// The grace period between the request to terminate and the kill.
    pub grace: Duration,
    /// The maximum length of a line, in bytes. A longer one is cut after one byte more.
    pub line: usize,
    /// The output size in bytes at which the process is killed.
    pub output: u64,
}

/// The sending side of a dialogue.
#[derive(Debug)]
pub struct LineSender(Option<pipe::Sender>);

/// The lines of a process without their newlines; `None` at the end of its output.
pub type LineReceiver = mpsc::UnboundedReceiver<Vec<u8>>;

/// The outcome of a process and the tail of its output.
#[derive(Clone, Debug)]
pub struct DialogueEnd {
    pub exit: WorkExit,
    /// The tails of both streams, not masked.
    pub tails: StreamTails,
}

/// Starts a process for a dialogue. It runs while the future is polled; dropping the future kills it.
pub async fn begin(
    command: &ProcessCommand,
    dialogue_limits: DialogueLimits,
    stop: watch::Receiver<StopLevel>,
) -> Result<(LineSender, LineReceiver, impl Future<Output = DialogueEnd> + use<>), WorkError> {
    let unable = |error: io::Error| WorkError::environmental(format!("cannot create a pipe: {error}"));
    let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| unable(error.into()))?;
    let mouth = pipe::Sender::from_owned_fd(write).map_err(unable)?;
    let prepared = sandbox::prepare(command).await?;
    let process = process::spawn_fed(command, &tree::own_mark(), prepared, Some(&read))?;
    drop(read);
    let (tell, ears) = mpsc::unbounded_channel();
    let limits = ProcessLimits {
        timeout: Some(dialogue_limits.timeout),
        grace: dialogue_limits.grace,
        output: Some(dialogue_limits.output),
        leaves_none: false,
    };
    let mut lines = LineSplitter {
        line_sender: Some(tell),
        line: Vec::new(),
        max_length: dialogue_limits.line,
        is_cut: false,
        tail: TailCollector::default(),
    };
    let follow = async move {
        let end = supervise(process, limits, stop, &mut lines).await;
        lines.finish();
        DialogueEnd { exit: end.exit, tails: lines.tail.ends() }
    };
    Ok((LineSender(Some(mouth)), ears, follow))
}

impl LineSender {
    /// Sends a line including its newline. A process that does not read is no error here: its exit
    /// will tell.
    pub async fn send_line(&mut self, line: &[u8]) {
        let Some(pipe) = &mut self.0 else { return };
        let result = tokio::time::timeout(WRITE_TIMEOUT, pipe.write_all(line)).await;
        if !matches!(result, Ok(Ok(()))) {
            self.0 = None;
        }
    }

    /// Sends a text of any length, however long the process takes to read it. Its exit ends the wait.
    pub async fn send_text(&mut self, text: &[u8]) {
        let Some(pipe) = &mut self.0 else { return };
        if pipe.write_all(text).await.is_err() {
            self.0 = None;
        }
    }

    /// Closes the input of the process.
    pub fn close(&mut self) {
        self.0 = None;
    }
}

/// Splits output into lines.
struct LineSplitter {
    /// `None`: there is no receiver any more.
    line_sender: Option<mpsc::UnboundedSender<Vec<u8>>>,
    line: Vec<u8>,
    max_length: usize,
    /// True while the rest of an overlong line is skipped.
    is_cut: bool,
    tail: TailCollector,
}

impl LineSplitter {
    fn add(&mut self, part: &[u8]) {
        if self.is_cut {
            return;
        }
        let room = (self.max_length + 1).saturating_sub(self.line.len());
        self.line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        if self.line.len() > self.max_length {
            self.flush_line();
            self.is_cut = true;
        }
    }

    fn flush_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(tell) = &self.line_sender {
            let _ = tell.send(line);
        }
    }

    fn finish(&mut self) {
        if !self.line.is_empty() {
            self.flush_line();
        }
        self.line_sender = None;
    }
}

impl OutputSink for LineSplitter {
    fn on_bytes(&mut self, stream: LogStream, bytes: &[u8]) {
        self.tail.add_bytes(stream, bytes);
        if stream != LogStream::Out {
            return;
        }
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.add(part);
            if parts.peek().is_some() {
                if !self.is_cut {
                    self.flush_line();
                }
                self.is_cut = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(most: usize, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let (tell, mut ears) = mpsc::unbounded_channel();
        let mut lines = LineSplitter {
            line_sender: Some(tell),
            line: Vec::new(),
            max_length: most,
            is_cut: false,
            tail: TailCollector::default(),
        };
        for chunk in chunks {
            lines.on_bytes(LogStream::Out, chunk);
        }
        lines.finish();
        std::iter::from_fn(|| ears.try_recv().ok()).collect()
    }

    #[test]
    fn lines_are_cut_at_their_ends_and_where_they_are_too_long() {
        assert_eq!(told(9, &[b"a\nb", b"c\n\n", b"d"]), [&b"a"[..], b"bc", b"", b"d"]);
        assert_eq!(told(2, &[b"abcdef", b"gh\nij\n"]), [&b"abc"[..], b"ij"]);
        assert!(told(2, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_come(
            text in "[a\n]{0,60}",
            sizes in prop::collection::vec(1..9_usize, 1..9)) {
            let mut chunks = Vec::new();
            let mut rest = text.as_bytes();
            for size in sizes.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(told(5, &chunks), told(5, &[text.as_bytes()]));
        }
    }

    #[tokio::test]
    async fn a_process_is_talked_to() {
        let command = ProcessCommand {
            argv: ["sh", "-c", "read one; echo \"got $one\"; read two || echo end"]
                .map(str::to_owned)
                .to_vec(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: "/".into(),
            sandbox: None,
            pins: None,
            input: None,
        };
        let bounds = DialogueLimits {
            timeout: Duration::from_secs(20),
            grace: Duration::from_secs(1),
            line: 100,
            output: 1000,
        };
        let (_told, stop) = watch::channel(StopLevel::No);
        let (mut mouth, mut ears, follow) = begin(&command, bounds, stop).await.unwrap();
        let talk = async {
            mouth.send_line(b"hello\n").await;
            let first = ears.recv().await;
            mouth.close();
            (first, ears.recv().await, ears.recv().await)
        };
        let (ended, lines) = tokio::join!(follow, talk);
        assert_eq!(lines, (Some(b"got hello".to_vec()), Some(b"end".to_vec()), None));
        assert!(ended.exit.is_success());
    }
}
