use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::sync::watch;

use super::call::{self, Called};
use super::journal;
use super::message::{Answer, Ask, Task};
use crate::exec::attempt::{Gone, Job};
use crate::exec::probe::{Probe, Probed};
use crate::exec::{OnOutput, Stop, Unable, tree};
use crate::machine::Exit;

/// The word that everything is recorded, and nothing will be asked about later.
pub(super) const FAREWELL: u8 = b'f';

/// The word that ends everything.
pub(super) const KILL: u8 = b'k';

/// The keeper of this engine.
#[derive(Debug)]
pub struct Keeper {
    id: String,
    socket: PathBuf,
    presence: StdStream,
}

/// What a keeper is started from.
pub struct Start<'a> {
    /// The folder of journals and sockets; made if it does not exist.
    pub dir: &'a Path,
    /// The keeper's id, which no other has.
    pub id: String,
    /// The program and its first arguments; the folder and the id follow.
    pub program: (&'a Path, &'a [&'a str]),
    /// Its environment.
    pub env: Vec<(String, String)>,
}

/// The keeper is gone, and with it the processes that it kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

impl Keeper {
    /// Starts a keeper. It serves at once: what is asked for waits until it is ready.
    pub fn start(start: Start<'_>) -> io::Result<Self> {
        let Start {
            dir,
            id,
            program: (program, args),
            env,
        } = start;
        std::fs::create_dir_all(dir)?;
        let socket = journal::socket(dir, &id);
        let listener = call::at(&socket, |path| UnixListener::bind(path))?;
        let (presence, other) = StdStream::pair()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the keeper is what starts all other processes"
        )]
        let mut command = std::process::Command::new(program);
        command.args(args).arg(dir).arg(&id).env_clear().envs(env);
        command
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(OwnedFd::from(other)))
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            id,
            socket,
            presence,
        })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Everything that it did is recorded: it need not remember.
    pub fn settle(&self) {
        let _ = (&self.presence).write_all(&[FAREWELL]);
    }

    /// Ends all that it keeps, at once.
    pub fn kill(&self) {
        let _ = (&self.presence).write_all(&[KILL]);
    }

    /// Does the work of an attempt. It goes on if this future is dropped.
    pub(in crate::exec) async fn run(
        &self,
        task: Task,
        job: Job,
        stop: watch::Receiver<Stop>,
        on_output: Option<OnOutput>,
    ) -> Result<Gone, Lost> {
        let job = Box::new(job);
        let show = on_output.is_some();
        let ask = Ask::Run { task, job, show };
        match self.call(&ask, stop, on_output).await?.answer {
            Answer::Gone(gone) => Ok(gone),
            _ => Err(Lost),
        }
    }

    /// Runs something that ends with this future.
    pub(in crate::exec) async fn probe(
        &self,
        probe: Probe,
        stop: watch::Receiver<Stop>,
    ) -> Result<Probed, Lost> {
        let called = self.call(&Ask::Probe(Box::new(probe)), stop, None).await?;
        match called.answer {
            Answer::Probed { exit, truncated } => Ok(Probed {
                exit,
                out: called.out,
                err: called.err,
                truncated,
            }),
            _ => Err(Lost),
        }
    }

    async fn call(
        &self,
        ask: &Ask,
        stop: watch::Receiver<Stop>,
        on_output: Option<OnOutput>,
    ) -> Result<Called, Lost> {
        let called = call::call(&self.socket, ask, stop, on_output).await;
        called.map_err(|_| {
            // It died, so nobody else ends what it kept.
            let ours = |mark: &str| {
                mark.strip_prefix(&self.id)
                    .is_some_and(|rest| rest.starts_with('-'))
            };
            tree::kill_marked(ours);
            Lost
        })
    }
}

impl Lost {
    pub(in crate::exec) fn gone(self) -> Gone {
        Gone::without(Exit::Interrupted)
    }

    pub(in crate::exec) fn unable(self) -> Unable {
        Unable::environmental("the process that keeps all others died")
    }
}
