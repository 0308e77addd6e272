use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::desk::{Secrets, known, leaks, mask, printed};
use super::trouble::{Trouble, What};
use super::{Desk, SecretFiles, ledger};
use crate::cli::{Exit, Failure};
use crate::connection::{Answer, Completed, Fault, Input, Level, Output, Setup, Step, Terms, Told};
use crate::exec::Stop;
use crate::exec::refs::Lent;
use crate::exec::talk::{self, Ended, Mouth};
use crate::machine::Exit as Ending;
use crate::name::RefId;
use crate::report::{BOLD, NAME, paint};

/// How long a script may take to end once it was told that nobody wants it any more.
const GRACE: Duration = Duration::from_secs(3);

const SCRIPT: &str = "setup";

/// What somebody wants to be set up.
#[derive(Clone, Debug)]
pub struct Wish {
    /// What they agreed to.
    pub terms: Terms,
    /// What to ask for first.
    pub initial: Vec<String>,
    /// What to ask for besides what was granted.
    pub incremental: Vec<String>,
    /// What is known of whose account it is.
    pub hint: BTreeMap<String, String>,
    /// Where secrets come from.
    pub secrets: SecretFiles,
}

/// Sets up a connection with a person. Gives what the script says of it, and the secrets, of which
/// none is kept yet. `Err(Ok)`: the script failed; `Err(Err)`: the person could not be asked.
pub fn set_up(desk: &Desk<'_>, wish: Wish) -> Result<(Completed, Secrets), Failed> {
    let before = desk.secrets().map_err(|fault| unable(What::Refs(fault)))?;
    let lent = desk
        .lend(&before)
        .map_err(|fault| unable(What::Refs(fault)))?;
    let runtime = ledger::runtime().map_err(|error| unable(What::Unable(error.to_string())))?;
    let mut relay = Relay {
        desk,
        setup: Setup::new(wish.terms.clone()),
        lent,
        known: before,
        given: Vec::new(),
        said: Vec::new(),
        over: None,
        failure: None,
        cancelled: None,
        wish,
    };
    let ended = runtime.block_on(relay.run());
    // Somebody may still be asked to go on; nobody waits for that.
    runtime.shutdown_background();
    relay.end(&ended.map_err(unable)?)
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Failed {
    /// The script did not set it up.
    Script(Box<Trouble>),
    /// The person could not be asked.
    Person(Failure),
}

fn unable(what: What) -> Failed {
    Failed::Script(Box::new(Trouble::new(SCRIPT, what)))
}

struct Relay<'a, 'b> {
    desk: &'a Desk<'b>,
    wish: Wish,
    setup: Setup,
    lent: Lent,
    /// The secrets that the script was lent.
    known: Secrets,
    /// Those that the person gave.
    given: Secrets,
    /// All that the script said, to be looked through again once its secrets are known.
    said: Vec<Vec<u8>>,
    over: Option<Result<Completed, What>>,
    failure: Option<Failure>,
    cancelled: Option<Instant>,
}

impl Relay<'_, '_> {
    async fn run(&mut self) -> Result<Ended, What> {
        let command = self.desk.command(SCRIPT, &self.lent);
        let command = command.ok_or_else(|| What::Unable("the skill has no such script".into()))?;
        let (stop, told) = watch::channel(Stop::No);
        let (mut mouth, mut ears, follow) = talk::begin(&command, self.desk.bounds(), told)
            .map_err(|unable| What::Unable(unable.why))?;
        let mut follow = pin!(follow);
        mouth.say(&self.start().line()).await;
        let (confirm, mut confirmed) = mpsc::unbounded_channel();
        let mut interrupted = pin!(tokio::signal::ctrl_c());
        let mut ended: Option<Ended> = None;
        let mut open = true;
        loop {
            if let Some(ended) = ended.take_if(|_| !open) {
                let outputs = self.setup.take(end(&ended));
                self.perform(outputs, &mut mouth, &confirm).await;
                return Ok(ended);
            }
            let late = self.cancelled.unwrap_or_else(Instant::now) + GRACE;
            let outputs = tokio::select! {
                line = ears.recv(), if open => if let Some(line) = line {
                    self.hear(line)
                } else {
                    open = false;
                    Vec::new()
                },
                over = &mut follow, if ended.is_none() => { ended = Some(over); Vec::new() }
                interrupt = &mut interrupted, if self.cancelled.is_none() => {
                    // Whatever went wrong with signals, nobody can interrupt any more: stop.
                    drop(interrupt);
                    self.cancelled = Some(Instant::now());
                    self.setup.take(Input::Cancel)
                }
                Some(()) = confirmed.recv() => self.setup.take(Input::Answer(Answer::Confirmed)),
                () = tokio::time::sleep_until(late), if self.cancelled.is_some() && ended.is_none() => {
                    stop.send_replace(Stop::AtOnce);
                    self.cancelled = Some(Instant::now() + GRACE);
                    Vec::new()
                }
            };
            self.perform(outputs, &mut mouth, &confirm).await;
            if matches!(self.over, Some(Err(_))) {
                stop.send_replace(Stop::AtOnce);
            }
        }
    }

    fn start(&self) -> Told {
        Told::Start {
            auth_strategy: self.wish.terms.auth,
            initial_permissions: self.wish.initial.clone(),
            incremental_scopes: self.wish.incremental.clone(),
            identity_hint: self.wish.hint.clone(),
        }
    }

    /// Looks through a line for secrets before anything is made of it.
    fn hear(&mut self, line: Vec<u8>) -> Vec<Output> {
        if self.over.is_some() {
            return Vec::new();
        }
        let mask = mask(&known(&self.known, &self.lent, Some(&self.given)));
        if leaks(&mask, &line) {
            self.over = Some(Err(What::Leak));
            return Vec::new();
        }
        let outputs = self.setup.take(Input::Line(&line));
        self.said.push(line);
        outputs
    }

    async fn perform(
        &mut self,
        outputs: Vec<Output>,
        mouth: &mut Mouth,
        confirm: &mpsc::UnboundedSender<()>,
    ) {
        for output in outputs {
            match output {
                Output::Send(told) => mouth.say(&told.line()).await,
                Output::Show(step) => self.desk.ui.say(&shown(&step)),
                Output::Secret { ref_id, label } => {
                    let more = self.secret(&ref_id, &label);
                    Box::pin(self.perform(more, mouth, confirm)).await;
                }
                Output::Confirm => {
                    let more = self.confirm(confirm.clone());
                    Box::pin(self.perform(more, mouth, confirm)).await;
                }
                Output::Note(level, text) => self.note(level, &text),
                Output::Done(completed) => {
                    self.over.get_or_insert(Ok(completed));
                }
                Output::Failed(fault) => {
                    self.over.get_or_insert(Err(fault.into()));
                }
            }
        }
    }

    /// Asks for a secret and puts it where the script can read it.
    fn secret(&mut self, name: &RefId, label: &str) -> Vec<Output> {
        let ui = self.desk.ui;
        let secret = match self.wish.secrets.get(ui, name, label) {
            Ok(secret) => secret,
            Err(failure) => return self.stop(failure),
        };
        if let Err(fault) = self.lent.add(name, &secret) {
            self.over = Some(Err(What::Refs(fault)));
            return Vec::new();
        }
        self.given.push((name.clone(), secret));
        self.setup.take(Input::Answer(Answer::Given))
    }

    /// Waits for the person to go on, while the script may go on, too.
    fn confirm(&mut self, confirm: mpsc::UnboundedSender<()>) -> Vec<Output> {
        if !self.desk.ui.env.asks {
            let message = "somebody is to go on, and nobody can be asked";
            let failure = Failure::new(Exit::Usage, message);
            return self.stop(failure.hint("set it up on a terminal"));
        }
        self.desk.ui.say("press Enter to go on ");
        tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            if std::io::stdin().read_line(&mut line).is_ok() {
                let _ = confirm.send(());
            }
        });
        Vec::new()
    }

    /// The person cannot, or does not want to, be asked.
    fn stop(&mut self, failure: Failure) -> Vec<Output> {
        if failure.exit != Exit::Interrupted {
            self.failure = Some(failure);
        }
        self.cancelled = Some(Instant::now());
        self.setup.take(Input::Cancel)
    }

    fn note(&self, level: Level, text: &str) {
        match level {
            Level::Info => self.desk.ui.note_line(&format!("  {text}")),
            Level::Warning => self.desk.ui.say_line(&format!("  warning: {text}")),
        }
    }

    /// What came of it, once nothing of the script is left.
    fn end(self, ended: &Ended) -> Result<(Completed, Secrets), Failed> {
        let written = self.lent.written();
        let mut known = known(&self.known, &self.lent, written.as_ref().ok());
        known.extend(self.given.iter().map(|(_, secret)| secret.clone()));
        let mask = mask(&known);
        let told = |what| {
            Failed::Script(Box::new(Trouble {
                script: SCRIPT,
                what,
                printed: printed(&ended.ends, &mask),
            }))
        };
        if let Some(failure) = self.failure {
            return Err(Failed::Person(failure));
        }
        // A secret that it wrote down only after it had said it.
        if self.said.iter().any(|line| leaks(&mask, line)) {
            return Err(told(What::Leak));
        }
        let nothing = Fault::Ended(String::new());
        let completed = self.over.unwrap_or(Err(nothing.into())).map_err(&told)?;
        let written = written.map_err(|fault| told(What::Refs(fault)))?;
        let mut secrets: BTreeMap<String, _> = BTreeMap::new();
        // What the script made of a secret goes before what the person gave.
        for (name, secret) in self.given.into_iter().chain(written) {
            secrets.insert(name.to_string(), (name, secret));
        }
        Ok((completed, secrets.into_values().collect()))
    }
}

fn end(ended: &Ended) -> Input<'static> {
    match &ended.exit {
        exit if exit.is_success() => Input::Ended(None),
        Ending::TimedOut => Input::TimeUp,
        exit => Input::Ended(Some(exit.to_string())),
    }
}

/// A step as a person sees it. Its texts were looked through.
fn shown(step: &Step) -> String {
    match step {
        Step::DeviceCode {
            verification_url,
            user_code,
            expires_in,
            ..
        } => format!(
            "  open   {}\n  enter  {}\n  within {}\n",
            paint(NAME, verification_url),
            paint(BOLD, user_code),
            span(*expires_in)
        ),
        Step::BrowserRedirect {
            auth_url,
            listening_on,
        } => format!(
            "  open   {}\n  the page leads back to {listening_on}\n",
            paint(NAME, auth_url)
        ),
        Step::SecureInput { guidance, .. } if guidance.is_empty() => String::new(),
        Step::SecureInput { guidance, .. } => {
            guidance.lines().map(|line| format!("  {line}\n")).collect()
        }
        Step::Completion { .. } | Step::Failure { .. } => String::new(),
    }
}

fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}
