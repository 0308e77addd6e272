//! A process that is talked to: lines to its standard input, lines from its standard output.

use std::future::Future;
use std::io;
use std::time::Duration;

use rustix::pipe::PipeFlags;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use super::ends::Last;
use super::hands::own_mark;
use super::log::Stream;
use super::process::{self, Command};
use super::supervise::{Limits, Sink, supervise};
use super::{Ends, Stop, Unable};
use crate::machine::Exit;

/// How long a process may take to read what it is told, in a pipe that holds much more.
const SAY: Duration = Duration::from_secs(5);

/// How a process is talked to.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The longest it may take.
    pub timeout: Duration,
    /// The time between asking it to end and killing it.
    pub grace: Duration,
    /// The longest line that counts, in bytes. Of a longer one, one byte more comes, and no more.
    pub line: usize,
    /// How much it may print before it is killed, in bytes.
    pub output: u64,
}

/// What is said to a process.
#[derive(Debug)]
pub struct Mouth(Option<pipe::Sender>);

/// What a process says: its lines, without their ends; `None` once it says no more.
pub type Ears = mpsc::UnboundedReceiver<Vec<u8>>;

/// How a process ended, and the last that it printed.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub exit: Exit,
    /// The end of both outputs, not masked.
    pub ends: Ends,
}

/// Starts a process to talk to. It runs while the future is polled; dropping that ends it.
pub fn begin(
    command: &Command,
    bounds: Bounds,
    stop: watch::Receiver<Stop>,
) -> Result<(Mouth, Ears, impl Future<Output = Ended> + use<>), Unable> {
    let unable = |error: io::Error| Unable::environmental(format!("no pipe can be made: {error}"));
    let (read, write) =
        rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| unable(error.into()))?;
    let mouth = pipe::Sender::from_owned_fd(write).map_err(unable)?;
    let process = process::spawn_fed(command, &own_mark(), Some(&read))?;
    drop(read);
    let (tell, ears) = mpsc::unbounded_channel();
    let limits = Limits {
        timeout: Some(bounds.timeout),
        grace: bounds.grace,
        output: Some(bounds.output),
    };
    let mut lines = Lines {
        tell: Some(tell),
        line: Vec::new(),
        most: bounds.line,
        is_cut: false,
        last: Last::default(),
    };
    let follow = async move {
        let end = supervise(process, limits, stop, &mut lines).await;
        lines.finish();
        Ended {
            exit: end.exit,
            ends: lines.last.ends(),
        }
    };
    Ok((Mouth(Some(mouth)), ears, follow))
}

impl Mouth {
    /// Says a line, with its end. A process that does not listen any more is no failure here: its end
    /// tells.
    pub async fn say(&mut self, line: &[u8]) {
        let Some(pipe) = &mut self.0 else { return };
        let said = tokio::time::timeout(SAY, pipe.write_all(line)).await;
        if !matches!(said, Ok(Ok(()))) {
            self.0 = None;
        }
    }

    /// Says nothing more: the process reads the end of its input.
    pub fn close(&mut self) {
        self.0 = None;
    }
}

/// Cuts what a process prints into lines.
struct Lines {
    /// `None`: nobody listens any more.
    tell: Option<mpsc::UnboundedSender<Vec<u8>>>,
    line: Vec<u8>,
    most: usize,
    /// Whether the rest of a line that is too long is left out.
    is_cut: bool,
    last: Last,
}

impl Lines {
    fn add(&mut self, part: &[u8]) {
        if self.is_cut {
            return;
        }
        let room = (self.most + 1).saturating_sub(self.line.len());
        self.line
            .extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        if self.line.len() > self.most {
            self.pass();
            self.is_cut = true;
        }
    }

    fn pass(&mut self) {
        let line = std::mem::take(&mut self.line);
        if let Some(tell) = &self.tell {
            let _ = tell.send(line);
        }
    }

    fn finish(&mut self) {
        if !self.line.is_empty() {
            self.pass();
        }
        self.tell = None;
    }
}

impl Sink for Lines {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.last.take(stream, bytes);
        if stream != Stream::Out {
            return;
        }
        let mut parts = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = parts.next() {
            self.add(part);
            if parts.peek().is_some() {
                if !self.is_cut {
                    self.pass();
                }
                self.is_cut = false;
            }
        }
    }

    fn holds(&self) -> bool {
        false
    }

    fn quiet(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(most: usize, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let (tell, mut ears) = mpsc::unbounded_channel();
        let mut lines = Lines {
            tell: Some(tell),
            line: Vec::new(),
            most,
            is_cut: false,
            last: Last::default(),
        };
        for chunk in chunks {
            lines.take(Stream::Out, chunk);
        }
        lines.finish();
        std::iter::from_fn(|| ears.try_recv().ok()).collect()
    }

    #[test]
    fn lines_are_cut_at_their_ends_and_where_they_are_too_long() {
        assert_eq!(
            told(9, &[b"a\nb", b"c\n\n", b"d"]),
            [&b"a"[..], b"bc", b"", b"d"]
        );
        assert_eq!(told(2, &[b"abcdef", b"gh\nij\n"]), [&b"abc"[..], b"ij"]);
        assert!(told(2, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_come(
            text in "[a\n]{0,60}",
            sizes in prop::collection::vec(1..9_usize, 1..9),
        ) {
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
        let command = Command {
            argv: [
                "sh",
                "-c",
                "read one; echo \"got $one\"; read two || echo end",
            ]
            .map(str::to_owned)
            .to_vec(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: "/".into(),
            sandbox: None,
            pins: None,
            input: None,
        };
        let bounds = Bounds {
            timeout: Duration::from_secs(20),
            grace: Duration::from_secs(1),
            line: 100,
            output: 1000,
        };
        let (_told, stop) = watch::channel(Stop::No);
        let (mut mouth, mut ears, follow) = begin(&command, bounds, stop).unwrap();
        let talk = async {
            mouth.say(b"hello\n").await;
            let first = ears.recv().await;
            mouth.close();
            (first, ears.recv().await, ears.recv().await)
        };
        let (ended, lines) = tokio::join!(follow, talk);
        assert_eq!(
            lines,
            (Some(b"got hello".to_vec()), Some(b"end".to_vec()), None)
        );
        assert!(ended.exit.is_success());
    }
}
