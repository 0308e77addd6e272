//! The client of a supervisor: it starts one, and passes work to it.

use std::{
    fs::{DirBuilder, File},
    io::{self, Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::OwnedFd,
        unix::{
            fs::DirBuilderExt as _,
            net::{UnixListener, UnixStream as StdStream},
            process::CommandExt as _,
        },
    },
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::sync::watch;

use super::{
    journal,
    message::{RunAttempt, SupervisorReply, SupervisorRequest},
    mux::MuxConnection,
    recall::kill_the_rest,
    request::{self, CallResult, JobHooks, SerialConnection, converse},
};
use crate::{
    processes::probe::{ProbeJob, ProbeOutcome},
    runtime::lock_mutex,
    work::attempt::{ProcessJob, ProcessOutcome},
    work_error::StopLevel,
};

/// The message that everything is recorded and nothing will be queried later.
pub(super) const SETTLED_MESSAGE: u8 = b'f';

/// The message killing everything.
pub(super) const KILL_MESSAGE: u8 = b'k';

/// The message that everything is killed once the engine is gone, whether it exits or dies.
pub(super) const BIND_MESSAGE: u8 = b'b';

/// The answer of an empty remainder.
pub(super) const DONE_MESSAGE: u8 = b'd';

/// The timeout for the end of everything left running.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The supervisor of this engine.
pub struct SupervisorClient {
    id: String,
    socket: PathBuf,
    presence: StdStream,
    /// The lock showing other processes that this engine lives.
    _claim: File,
    /// The connection for attempts, once opened.
    attempts: Mutex<Option<Arc<MuxConnection>>>,
    /// Idle connections for probes.
    idle: Mutex<Vec<SerialConnection>>,
    /// True if the supervisor was found to be gone.
    is_gone: AtomicBool,
    /// True if the supervisor was told to settle or to kill.
    is_ending: AtomicBool,
}

/// The parameters to start a supervisor.
pub struct SupervisorStart<'a> {
    /// The folder of journals and sockets; created if it does not exist.
    pub dir: &'a Path,
    /// The unique id of the supervisor.
    pub id: String,
    /// The program and its first arguments; the folder and the id follow.
    pub program: (&'a Path, &'a [&'a str]),
    /// The environment of the supervisor.
    pub env: Vec<(String, String)>,
}

/// The supervisor is gone, and with it its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the supervisor process of the steps died")]
pub struct SupervisorLost;

impl std::fmt::Debug for SupervisorClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SupervisorClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl SupervisorClient {
    /// Starts a supervisor. Requests may be sent at once: they wait until it is ready.
    pub fn start(start: SupervisorStart<'_>) -> io::Result<Self> {
        let SupervisorStart { dir, id, program: (program, args), env } = start;
        // Every client that can connect can start any process.
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let socket = journal::socket(dir, &id);
        let listener = request::with_short_path(&socket, |path| UnixListener::bind(path))?;
        let claim = journal::claim(&journal::path(dir, &id))?;
        let (presence, other) = StdStream::pair()?;
        #[expect(clippy::disallowed_methods, reason = "the supervisor starts all other processes")]
        let mut command = std::process::Command::new(program);
        command.arg0("wf-keeper").args(args).arg(dir).arg(&id).env_clear().envs(env);
        // It has few threads: areas of memory for each would only take address space, which may be limited.
        command.env("MALLOC_ARENA_MAX", "1");
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
            idle: Mutex::default(),
            is_gone: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
        })
    }

    /// True if the supervisor was found to be gone: reports about processes may then reflect its
    /// death.
    pub fn is_lost(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Returns the supervisor's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Declares all outcomes recorded: the supervisor may forget them and ends everything that steps left running.
    /// Dropping it waits for the end.
    pub fn confirm_recorded(&self) {
        lock_mutex(&self.idle).clear();
        self.hang_up();
        let _ = (&self.presence).write_all(&[SETTLED_MESSAGE]);
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Kills everything it supervises. Dropping it waits for the end.
    pub fn kill(&self) {
        lock_mutex(&self.idle).clear();
        let _ = (&self.presence).write_all(&[KILL_MESSAGE]);
        self.is_ending.store(true, Ordering::Relaxed);
    }

    /// Lets everything it supervises die with this engine: nobody will ask for it again.
    pub fn bind(&self) {
        let _ = (&self.presence).write_all(&[BIND_MESSAGE]);
    }

    /// Runs the work of an attempt. The work continues if this future is dropped.
    pub(crate) async fn run_job(
        &self,
        attempt: RunAttempt,
        job: ProcessJob,
        hooks: JobHooks,
    ) -> Result<ProcessOutcome, SupervisorLost> {
        let job = Box::new(job);
        let show = hooks.on_output.is_some();
        let ask = SupervisorRequest::Run { task: attempt, job, show };
        let called = match self.mux() {
            Ok(mux) => mux.ask(&ask, hooks).await,
            Err(error) => Err(error),
        };
        match called.map_err(|_| self.is_gone())?.reply {
            SupervisorReply::Gone(gone) => Ok(*gone),
            _ => Err(SupervisorLost),
        }
    }

    /// Runs a probe ending with this future.
    pub(crate) async fn probe(
        &self,
        probe: ProbeJob,
        stop: watch::Receiver<StopLevel>,
    ) -> Result<ProbeOutcome, SupervisorLost> {
        let ask = SupervisorRequest::Probe(Box::new(probe));
        let called = self.request_idle(&ask, JobHooks::without_output(stop)).await;
        let called = called.map_err(|_| self.is_gone())?;
        match called.reply {
            SupervisorReply::Probed(probed) => {
                Ok(ProbeOutcome { out: called.out, err: called.err, ..*probed })
            }
            _ => Err(SupervisorLost),
        }
    }

    /// Sends a request on an idle connection or a new one.
    async fn request_idle(&self, request: &SupervisorRequest, hooks: JobHooks) -> io::Result<CallResult> {
        let free = lock_mutex(&self.idle).pop();
        let mut line = match free {
            Some(line) => line,
            None => SerialConnection::open(&self.socket)?,
        };
        let called = converse(&mut line, request, hooks).await?;
        if line.is_clean {
            lock_mutex(&self.idle).push(line);
        }
        Ok(called)
    }

    /// Returns the connection for attempts.
    fn mux(&self) -> io::Result<Arc<MuxConnection>> {
        let mut attempts = lock_mutex(&self.attempts);
        if let Some(mux) = &*attempts {
            return Ok(Arc::clone(mux));
        }
        let mux = attempts.insert(Arc::new(MuxConnection::open(&self.socket)?));
        Ok(Arc::clone(mux))
    }

    /// Ends all waiting for attempts.
    fn hang_up(&self) {
        if let Some(mux) = &*lock_mutex(&self.attempts) {
            mux.close();
        }
    }

    /// Marks the supervisor as dead and kills its remaining processes, which nothing else would end.
    fn is_gone(&self) -> SupervisorLost {
        self.is_gone.store(true, Ordering::Relaxed);
        kill_the_rest(&self.id, &self.socket.with_extension("journal"));
        SupervisorLost
    }
}

impl Drop for SupervisorClient {
    /// Waits for the end requested by `settle` or `kill`. After neither, the supervisor is dead or
    /// its run has another owner, and there is nothing to wait for.
    fn drop(&mut self) {
        self.hang_up();
        if self.is_ending.load(Ordering::Relaxed) {
            let _ = self.presence.shutdown(Shutdown::Write);
            let _ = self.presence.set_read_timeout(Some(SHUTDOWN_TIMEOUT));
            let _ = (&self.presence).read(&mut [0]);
        }
    }
}
