use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::trouble::{Trouble, What};
use super::{Adapter, ledger};
use crate::cli::load;
use crate::cli::workspace::CONFIG;
use crate::cli::{Exit, Failure, Ui, Workspace};
use crate::connection::request::{Reply, Request, reply};
use crate::connection::{Fault, MOST_LINE};
use crate::exec::process::Command;
use crate::exec::refs::{Lent, Refs, RefsFault};
use crate::exec::sandbox::Around;
use crate::exec::secret::Hidden;
use crate::exec::talk::{self, Bounds, Ended};
use crate::exec::{Ends, Stop};
use crate::machine::Exit as Ending;
use crate::mask::Mask;
use crate::model::Limits;
use crate::name::{PlanId, RefId};
use crate::spec::Disk;
use crate::untrusted::Untrusted;

/// How much a script may print at most, in bytes.
const OUTPUT: u64 = 16 << 20;

/// How much of what it printed for people is told, in lines.
const TOLD: usize = 5;

/// Secrets by name.
pub type Secrets = Vec<(RefId, Hidden)>;

/// Runs the scripts of a skill for one connection, whose secrets nobody else works on meanwhile.
pub struct Desk<'a> {
    /// How to speak.
    pub ui: &'a Ui,
    /// The connection.
    pub name: PlanId,
    /// The skill.
    pub adapter: Adapter,
    /// The secrets.
    pub refs: Refs,
    /// The longest that a script may take.
    pub timeout: Duration,
    around: Arc<Around>,
}

impl<'a> Desk<'a> {
    /// Takes up a connection, whose state folder is made if it is not there.
    pub fn open(
        ui: &'a Ui,
        workspace: &Workspace,
        name: &PlanId,
        adapter: Adapter,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        crate::store::Folder::new(&workspace.state).create()?;
        let refs = Refs::take(&workspace.state, name).map_err(|fault| refused(&fault, name))?;
        let config = load::read_config(&Disk::new(&workspace.root), CONFIG);
        let read = config.map(|(config, _)| config.sandbox.read);
        let host = ui.env.host();
        let around = Around::new(
            &workspace.root,
            &workspace.state,
            &host,
            &read.unwrap_or_default(),
        );
        Ok(Self {
            ui,
            name: name.clone(),
            adapter,
            refs,
            timeout,
            around: Arc::new(around),
        })
    }

    /// All secrets of the connection.
    pub fn secrets(&self) -> Result<Secrets, RefsFault> {
        let names = self.refs.names()?.into_iter();
        names
            .map(|name| {
                let secret = self.refs.get(&name)?;
                Ok((name, secret))
            })
            .collect()
    }

    /// Lends secrets to a script.
    pub fn lend(&self, secrets: &Secrets) -> Result<Lent, RefsFault> {
        self.refs.lend(secrets, &self.adapter.bundle)
    }

    /// How a script is run with what it was lent; `None`: the skill has no such script.
    pub fn command(&self, script: &str, lent: &Lent) -> Option<Command> {
        let path = self.adapter.script(script)?;
        let (argv, network) = self.adapter.command(path);
        let folders = vec![lent.refs(), lent.out(), lent.skill()];
        let limits = Limits::default();
        let sandbox = self.around.apart(&lent.empty(), folders, network, &limits);
        let mut env = self.ui.env.only(&["PATH", "HOME", "LANG", "TZ"]);
        env.extend([
            ("WF_CONNECTION".to_owned(), self.name.to_string()),
            ("WF_REFS".to_owned(), lent.refs().display().to_string()),
            ("WF_REFS_OUT".to_owned(), lent.out().display().to_string()),
        ]);
        Some(Command {
            argv,
            env,
            cwd: lent.skill(),
            sandbox: Some(sandbox),
            pins: None,
            input: None,
        })
    }

    /// How a script is bounded.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            timeout: self.timeout,
            grace: Duration::from_secs(2),
            line: MOST_LINE,
            output: OUTPUT,
        }
    }

    /// Asks a script, and keeps the secrets that it wrote.
    pub fn ask<T: Reply>(&self, request: &Request<'_>) -> Result<T, Trouble> {
        let script = request.script();
        let refs = |fault| Trouble::new(script, What::Refs(fault));
        let secrets = self.secrets().map_err(refs)?;
        let (answer, written) = self.ask_with(request, &secrets)?;
        self.keep(&written).map_err(refs)?;
        Ok(answer)
    }

    /// Asks a script that is lent these secrets; gives those that it wrote, too.
    pub fn ask_with<T: Reply>(
        &self,
        request: &Request<'_>,
        secrets: &Secrets,
    ) -> Result<(T, Secrets), Trouble> {
        let script = request.script();
        let refs = |fault| Trouble::new(script, What::Refs(fault));
        let unable = |why: String| Trouble::new(script, What::Unable(why));
        let lent = self.lend(secrets).map_err(refs)?;
        let command = self.command(script, &lent);
        let command = command.ok_or_else(|| unable("the skill has no such script".into()))?;
        let runtime = ledger::runtime().map_err(|error| unable(error.to_string()))?;
        let talked = runtime.block_on(async {
            let (_told, stop) = watch::channel(Stop::No);
            let (mut mouth, mut ears, follow) =
                talk::begin(&command, self.bounds(), stop).map_err(|unable| unable.why)?;
            let say = async {
                mouth.say(&request.line()).await;
                mouth.close();
                let mut lines = Vec::new();
                while let Some(line) = ears.recv().await {
                    // More than one is wrong already, and need not be kept.
                    if lines.len() < 2 {
                        lines.push(line);
                    }
                }
                lines
            };
            let (ended, lines) = tokio::join!(follow, say);
            Ok::<_, String>((ended, lines))
        });
        let (ended, lines) = talked.map_err(unable)?;
        let written = lent.written();
        let known = known(secrets, &lent, written.as_ref().ok());
        let mask = mask(&known);
        let told = |what| Trouble {
            script,
            what,
            printed: printed(&ended.ends, &mask),
        };
        if lines.iter().any(|line| leaks(&mask, line)) {
            return Err(Trouble::new(script, What::Leak));
        }
        if let Some(fault) = badly(&ended) {
            return Err(told(fault.into()));
        }
        let answer = reply::<T>(&lines).map_err(|fault| told(fault.into()))?;
        Ok((answer, written.map_err(|fault| told(What::Refs(fault)))?))
    }

    /// Keeps secrets.
    pub fn keep(&self, secrets: &Secrets) -> Result<(), RefsFault> {
        let mut each = secrets.iter();
        each.try_for_each(|(name, secret)| self.refs.put(name, secret))
    }
}

/// How a script ended badly, if it did.
fn badly(ended: &Ended) -> Option<Fault> {
    match &ended.exit {
        exit if exit.is_success() => None,
        Ending::TimedOut => Some(Fault::TimeUp),
        exit => Some(Fault::Ended(format!(" ({exit})"))),
    }
}

/// All that must not be shown.
pub(super) fn known(lent: &Secrets, folder: &Lent, written: Option<&Secrets>) -> Vec<Hidden> {
    let own = lent.iter().chain(written.into_iter().flatten());
    let mut known: Vec<Hidden> = own.map(|(_, secret)| secret.clone()).collect();
    known.extend(folder.so_far());
    known.sort();
    known.dedup();
    known
}

/// What hides it.
pub(super) fn mask(known: &[Hidden]) -> Mask {
    Mask::new(known.iter().map(Hidden::expose))
}

/// Whether a line has a secret in it.
pub(super) fn leaks(mask: &Mask, line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let shown = mask.text(&text);
    *shown != *text
}

/// The last that a script printed for people, safe to look at and without secrets.
pub(super) fn printed(ends: &Ends, mask: &Mask) -> String {
    let text = Untrusted::printed(mask.text(&ends.err).as_bytes()).block();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines.len().saturating_sub(TOLD);
    lines.get(last..).unwrap_or_default().join("\n")
}

/// What to say when secrets cannot be worked on.
pub fn refused(fault: &RefsFault, name: &PlanId) -> Failure {
    let failure = Failure::new(Exit::State, format!("connection `{name}`: {fault}"));
    match fault {
        RefsFault::Busy => failure.hint("try again when it has ended"),
        _ => failure,
    }
}
