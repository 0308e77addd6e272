//! The process of a program working as an agent, and the socket it calls the model on.

use std::{convert::Infallible, io, net::Ipv4Addr, sync::Arc, time::Duration};

use tokio::{net::TcpListener, sync::watch, task::JoinSet};

use wf_base::redact::SecretMask;
use wf_core::{
    agent::client::{ClientCommand, ClientLaunch, ClientOutput, repair_prompt},
    machine::InvalidAnswer,
};
use wf_exec::{
    StopLevel, WorkError,
    dialogue::{self, DialogueEnd, DialogueLimits},
    process::ProcessCommand,
    sandbox::{GatewayPort, SandboxSpec},
};
use wf_gateway::server::{ClientToken, serve};

use super::session::{CallQueue, ClientSession};
use crate::{
    agent::session::AgentSession,
    run::{RunContext, attempt_task::step_of},
};

/// The longest line of a program's output, in bytes.
const LINE_LIMIT: usize = 16 << 20;

/// The default limit on a program's output, in bytes.
const OUTPUT_LIMIT: u64 = 1 << 30;

/// The time limit of a program whose step has none.
const NO_LIMIT: Duration = Duration::from_hours(24 * 365);

/// A program working as an agent.
pub(super) struct ClientProcess {
    stop: watch::Sender<StopLevel>,
    /// The mask for its token, which it may print.
    pub(super) mask: SecretMask,
    /// The program with its port; dropping it kills the program.
    work: JoinSet<ClientEnd>,
}

/// The end of a program that worked as an agent.
pub(super) struct ClientEnd {
    pub(super) end: DialogueEnd,
    pub(super) output: ClientOutput,
}

/// The source of the socket on which a program is accepted.
enum PortSource {
    /// The socket is open.
    Open(TcpListener),
    /// The sandbox opens it.
    Sandbox(GatewayPort),
}

impl ClientProcess {
    /// Starts the program of an agent, and serves its calls.
    pub(super) async fn start(
        run: &RunContext,
        session: &AgentSession,
        client: &ClientSession,
    ) -> Result<Self, WorkError> {
        let token = ClientToken::random().map_err(|error| unopened(&error))?;
        let port =
            PortSource::open(session.command.sandbox.as_ref()).await.map_err(|error| unopened(&error))?;
        let mut command = session.command.clone();
        let input = client.prepare(&mut command, session, &port, &token)?;
        let step = step_of(run, &session.task.attempt.task_id);
        let since = run.session.clock.now().since(session.began);
        let limits = DialogueLimits {
            timeout: step.timeout.map_or(NO_LIMIT, |limit| limit.saturating_sub(since)),
            grace: run.plan.parts().policy.grace,
            line: LINE_LIMIT,
            output: step.limits.output.unwrap_or(OUTPUT_LIMIT),
        };
        let (stop, heard) = watch::channel(StopLevel::No);
        let (mut mouth, mut lines, process) = dialogue::begin(&command, limits, heard).await?;
        let mut output = ClientOutput::new(client.engine);
        let calls = Arc::new(CallQueue { model: session.model.clone(), queue: client.queue.clone() });
        let mask = SecretMask::new([token.expose()]);
        let hides = mask.clone();
        let mut work = JoinSet::new();
        work.spawn(async move {
            let talk = async {
                mouth.send_text(input.as_bytes()).await;
                mouth.close();
                while let Some(line) = lines.recv().await {
                    output.take(&hides.text(&String::from_utf8_lossy(&line)));
                }
            };
            let followed = async { tokio::join!(process, talk).0 };
            tokio::select! {
                end = followed => ClientEnd { end, output },
                // A port that cannot be served leaves the program without a model, which it reports.
                never = port.serve(token, calls) => match never {},
            }
        });
        Ok(Self { stop, mask, work })
    }

    /// Waits for the end of the program. Dropping the future loses nothing.
    pub(super) async fn ended(&mut self) -> Option<ClientEnd> {
        match self.work.join_next().await? {
            Ok(end) => Some(end),
            Err(error) if error.is_cancelled() => None,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Tells the program to end.
    pub(super) fn stop(&self, level: StopLevel) {
        self.stop.send_if_modified(|now| std::mem::replace(now, level.max(*now)) < level);
    }

    /// Ends the program, and waits until nothing of it is left.
    pub(super) async fn end(mut self) {
        self.stop(StopLevel::Gently);
        drop(self.ended().await);
    }
}

impl ClientSession {
    /// Returns the instructions, and the mistake to repair.
    fn prompt(&self, session: &AgentSession) -> Result<String, WorkError> {
        let prompt = self.instructions.prompt();
        let Some(InvalidAnswer { mistake, answer }) = &self.invalid_answer else {
            return Ok(prompt);
        };
        let answer: Option<String> =
            answer.as_ref().map(|digest| session.bodies.load_body(digest)).transpose()?;
        Ok(repair_prompt(&prompt, answer.as_deref(), mistake))
    }

    /// Completes the command of the program; returns the text on its standard input.
    fn prepare(
        &self,
        command: &mut ProcessCommand,
        session: &AgentSession,
        port: &PortSource,
        token: &ClientToken,
    ) -> Result<String, WorkError> {
        let number = port.number().map_err(|error| unopened(&error))?;
        let prompt = self.prompt(session)?;
        let launch = ClientLaunch {
            engine: self.engine,
            command: &self.words,
            model: session.model.name.as_str(),
            address: &format!("http://127.0.0.1:{number}"),
            token: token.expose(),
            prompt: &prompt,
            answer_schema: self.instructions.answer_schema.as_ref(),
            repairs: self.invalid_answer.as_ref().map(|invalid| invalid.mistake.as_str()),
        };
        let ClientCommand { argv, env, input } = launch.command(std::mem::take(&mut command.env));
        (command.argv, command.env) = (argv, env);
        if let Some(sandbox) = &mut command.sandbox {
            if let PortSource::Sandbox(port) = port {
                sandbox.gateway = Some(port.path());
            }
            sandbox.starts(command.argv.first());
            sandbox.starts(launch.program().map(str::to_owned).as_ref());
        }
        Ok(input)
    }
}

impl PortSource {
    /// Opens a port, or lets a sandbox without network open it.
    async fn open(sandbox: Option<&SandboxSpec>) -> io::Result<Self> {
        if sandbox.is_none_or(|sandbox| sandbox.network) {
            return TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map(Self::Open);
        }
        GatewayPort::open().map(Self::Sandbox)
    }

    /// Returns the number of the port, as the program sees it.
    fn number(&self) -> io::Result<u16> {
        match self {
            Self::Open(listener) => Ok(listener.local_addr()?.port()),
            Self::Sandbox(_) => Ok(GatewayPort::NUMBER),
        }
    }

    async fn serve(self, token: ClientToken, calls: Arc<CallQueue>) -> Infallible {
        let listener = match self {
            Self::Open(listener) => Ok(listener),
            Self::Sandbox(port) => port.listener().await,
        };
        match listener {
            Ok(listener) => serve(listener, token, calls).await,
            Err(_) => std::future::pending().await,
        }
    }
}

fn unopened(error: &dyn std::fmt::Display) -> WorkError {
    WorkError::environmental(format!("cannot open the gateway for the program of the agent: {error}"))
}
