//! How a sandbox is started, and what is heard of it.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::fs::MemfdFlags;

use super::limits::Group;
use super::words::{FEED, ORDER, Order, PRIVATE, WORD, Word};
use super::{Guard, Sandbox, private};
use crate::exec::process::Command;
use crate::exec::spawn::{self, Image, SELF, Started};
use crate::exec::{Unable, tree};
use crate::machine::Exit;

/// A sandbox from outside.
#[derive(Debug)]
pub(in crate::exec) struct Confined {
    talk: UnixStream,
    /// Removed after everything in it has ended.
    group: Group,
}

/// What was heard of a sandbox whose processes have ended.
#[derive(Debug, Default, PartialEq)]
pub(in crate::exec) struct Report {
    /// What was enforced.
    pub(in crate::exec) guards: Vec<Guard>,
    /// How the command ended, or why it did not begin; `None`: nobody lived to say so.
    pub(in crate::exec) exit: Option<Exit>,
}

/// Finds what every sandbox hides, if the command needs one: that takes a while the first time, which is
/// not the command's.
pub(in crate::exec) async fn prepare(command: &Command) {
    if command.sandbox.is_some() {
        // Whoever starts it finds it again, or says why not.
        let _ = tokio::task::spawn_blocking(private::of_system).await;
    }
}

/// Starts a command in a sandbox; it reads from the pipe, if there is one. `env` is its whole
/// environment.
pub(in crate::exec) fn start(
    (command, feed): (&Command, Option<&OwnedFd>),
    sandbox: &Sandbox,
    env: Vec<String>,
    mark: &str,
) -> Result<(Started, Confined), Unable> {
    let unable =
        |error: io::Error| Unable::environmental(format!("a sandbox cannot be started: {error}"));
    let group = Group::make(mark, &sandbox.limits);
    let order = Order {
        sandbox: sandbox.clone(),
        argv: command.argv.clone(),
        env,
        cwd: command.cwd.clone(),
        path: command.path().map(str::to_owned),
        input: command.input.clone(),
        fed: feed.is_some(),
        outside: group.guards().to_vec(),
    };
    let order = written(&order).map_err(unable)?;
    let hidden = private::of_system().and_then(|found| private::written(&found));
    let hidden = hidden.map_err(unable)?;
    let (mut talk, end) = UnixStream::pair().map_err(unable)?;
    let argv = ["wf-sandbox".to_owned(), WORD.to_owned()];
    let marked = [format!("{}={mark}", tree::MARK)];
    let image = Image {
        program: Path::new(SELF),
        argv: &argv,
        env: &marked,
        cwd: Path::new("/"),
    };
    let mut given = vec![
        (end.as_fd(), 0),
        (order.as_fd(), ORDER),
        (hidden.as_fd(), PRIVATE),
    ];
    given.extend(feed.map(|feed| (feed.as_fd(), FEED)));
    let started = spawn::spawn(image, &given).map_err(unable)?;
    let ready = group.admit(started.pid).and_then(|()| {
        talk.set_nonblocking(true)?;
        talk.write_all(&[1])
    });
    // Without the word it waits for, it does nothing but end.
    ready.map_err(unable)?;
    let confined = Confined { talk, group };
    Ok((started, confined))
}

/// The order as something that can be inherited.
fn written(order: &Order) -> io::Result<OwnedFd> {
    let text = serde_json::to_vec(order)?;
    let file = rustix::fs::memfd_create("wf-order", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(&text)?;
    Ok(file.into())
}

impl Confined {
    /// What was heard.
    pub(in crate::exec) fn report(&mut self) -> Report {
        let mut told = Vec::new();
        // What is not there yet will never come: everybody who could say it has ended.
        let _ = self.talk.read_to_end(&mut told);
        let mut report = Report::default();
        let words = told.split(|byte| *byte == b'\n');
        for word in words.filter_map(|line| serde_json::from_slice(line).ok()) {
            match word {
                Word::Holds(guards) => report.guards = guards,
                Word::Unable { why, class } => report.exit = Some(Exit::Unable { why, class }),
                Word::Code(code) => report.exit = Some(Exit::Code { code }),
                Word::Signal(signal) => report.exit = Some(Exit::Signal { signal }),
            }
        }
        let killed =
            |exit: &Exit| matches!(exit, Exit::Signal { signal: 9 } | Exit::Code { code: 137 });
        if report.exit.as_ref().is_none_or(killed) && self.group.ran_out() {
            let why = "it took more memory than `limits` lets it";
            report.exit = Some(Unable::environmental(why).into());
        }
        report
    }
}
