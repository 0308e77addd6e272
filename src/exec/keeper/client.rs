use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{UnixListener, UnixStream as StdStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::call::{self, Called, Line, Wires};
use super::journal;
use super::message::{Answer, Ask, Task};
use super::mux::Mux;
use super::pool::Seat;
use super::recall::kill_the_rest;
use crate::exec::Stop;
use crate::exec::attempt::{Gone, Job};
use crate::exec::probe::{Probe, Probed};

/// The word that everything is recorded, and nothing will be asked about later.
pub(super) const FAREWELL: u8 = b'f';

/// The word that ends everything.
pub(super) const KILL: u8 = b'k';

/// The answer that nothing is left.
pub(super) const DONE: u8 = b'd';

/// How long the end of what is left may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The keeper of this engine.
pub struct Keeper {
    id: String,
    socket: PathBuf,
    presence: StdStream,
    /// Tells others that this engine lives.
    _claim: File,
    /// Where attempts are asked for, once one was.
    attempts: Mutex<Option<Arc<Mux>>>,
    /// Connections for probes, on which nothing is asked now.
    free: Mutex<Vec<Line>>,
    /// Whether it was found to be gone.
    lost: AtomicBool,
    /// Whether it was told how it ends.
    ends: AtomicBool,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the process that keeps the steps' processes died")]
pub struct Lost;

impl std::fmt::Debug for Keeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keeper")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// Starts a keeper. It serves at once: what is asked for waits until it is ready.
    pub fn start(start: Start<'_>) -> io::Result<Self> {
        let Start {
            dir,
            id,
            program: (program, args),
            env,
        } = start;
        // Whoever may connect may ask for any process.
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let socket = journal::socket(dir, &id);
        let listener = call::at(&socket, |path| UnixListener::bind(path))?;
        let claim = journal::claim(&journal::path(dir, &id))?;
        let (presence, other) = StdStream::pair()?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the keeper is what starts all other processes"
        )]
        let mut command = std::process::Command::new(program);
        command
            .arg0("wf-keeper")
            .args(args)
            .arg(dir)
            .arg(&id)
            .env_clear()
            .envs(env);
        command
            .stdin(Stdio::from(OwnedFd::from(listener)))
            .stdout(Stdio::from(OwnedFd::from(other)))
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            id,
            socket,
            presence,
            _claim: claim,
            attempts: Mutex::default(),
            free: Mutex::default(),
            lost: AtomicBool::new(false),
            ends: AtomicBool::new(false),
        })
    }

    /// Whether it was found to be gone: then what was told about processes may be about their
    /// keeper.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Everything that it did is recorded: it need not remember, and what steps left running is
    /// ended. Dropping it waits until that is so.
    pub fn settle(&self) {
        self.free().clear();
        self.hang_up();
        let _ = (&self.presence).write_all(&[FAREWELL]);
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Ends all that it keeps, at once. Dropping it waits until that is so.
    pub fn kill(&self) {
        self.free().clear();
        let _ = (&self.presence).write_all(&[KILL]);
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Does the work of an attempt; `None`: it was staged and does not begin. It goes on if this
    /// future is dropped.
    pub(in crate::exec) async fn run(
        &self,
        task: Task,
        job: Job,
        seat: Option<Seat>,
        wires: Wires,
    ) -> Result<Option<Gone>, Lost> {
        let job = Box::new(job);
        let show = wires.on_output.is_some();
        let ask = Ask::Run {
            task,
            job,
            show,
            seat,
        };
        let called = match self.mux() {
            Ok(mux) => mux.ask(&ask, wires).await,
            Err(error) => Err(error),
        };
        match called.map_err(|_| self.is_gone())?.answer {
            Answer::Gone(gone) => Ok(Some(*gone)),
            Answer::Unstaged => Ok(None),
            _ => Err(Lost),
        }
    }

    /// Runs something that ends with this future.
    pub(in crate::exec) async fn probe(
        &self,
        probe: Probe,
        stop: watch::Receiver<Stop>,
    ) -> Result<Probed, Lost> {
        let ask = Ask::Probe(Box::new(probe));
        let called = self.asked(&ask, (stop, None).into()).await;
        let called = called.map_err(|_| self.is_gone())?;
        match called.answer {
            Answer::Probed {
                exit,
                truncated,
                guards,
                ends,
            } => Ok(Probed {
                exit,
                out: called.out,
                err: called.err,
                truncated,
                guards,
                ends,
            }),
            _ => Err(Lost),
        }
    }

    /// Asks on a connection that is free, or on a new one.
    async fn asked(&self, ask: &Ask, wires: Wires) -> io::Result<Called> {
        let free = self.free().pop();
        let mut line = match free {
            Some(line) => line,
            None => Line::open(&self.socket)?,
        };
        let called = line.ask(ask, wires).await?;
        if line.is_clean {
            self.free().push(line);
        }
        Ok(called)
    }

    fn free(&self) -> MutexGuard<'_, Vec<Line>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where attempts are asked for.
    fn mux(&self) -> io::Result<Arc<Mux>> {
        let mut attempts = self.attempts();
        if let Some(mux) = &*attempts {
            return Ok(Arc::clone(mux));
        }
        let mux = attempts.insert(Arc::new(Mux::open(&self.socket)?));
        Ok(Arc::clone(mux))
    }

    fn attempts(&self) -> MutexGuard<'_, Option<Arc<Mux>>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets nobody wait for attempts any longer.
    fn hang_up(&self) {
        if let Some(mux) = &*self.attempts() {
            mux.close();
        }
    }

    /// It died, so nobody else ends what it kept.
    fn is_gone(&self) -> Lost {
        self.lost.store(true, Ordering::Relaxed);
        kill_the_rest(&self.id, &self.socket.with_extension("journal"));
        Lost
    }
}

impl Drop for Keeper {
    /// Waits until what was to be ended has ended. Who said neither is dead, or has lost its run
    /// to somebody who goes on with it, and waits for nothing.
    fn drop(&mut self) {
        self.hang_up();
        if self.ends.load(Ordering::Relaxed) {
            let _ = self.presence.shutdown(Shutdown::Write);
            let _ = self.presence.set_read_timeout(Some(PATIENCE));
            let _ = (&self.presence).read(&mut [0]);
        }
    }
}
