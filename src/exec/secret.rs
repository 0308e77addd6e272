//! Secrets: read when first needed, once a run, and never shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::{Mutex, watch};

use super::pinned::Pins;
use super::probe::Probe;
use super::process::Command;
use super::{Hands, Host, Stop};
use crate::machine::Exit;
use crate::mask::weakness;
use crate::model::{Secret, SecretSource};
use crate::name::{EnvName, PlanId, RefId};

#[cfg(test)]
mod tests;

/// The longest secret, in bytes.
const LONGEST: usize = 64 * 1024;

/// How long a program may take to print a secret: it may have to ask a vault.
const PATIENCE: Duration = Duration::from_secs(30);

/// A value that must not be seen.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hidden(Arc<str>);

/// Every value that any run of this program knows: a run may meet the secrets of another, that
/// of which it is a part above all.
#[derive(Clone, Debug, Default)]
pub struct Everybodys(Arc<std::sync::Mutex<BTreeSet<Hidden>>>);

/// Why a secret has no value. Names the secret, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("secret `{name}`: {why}")]
pub struct BadSecret {
    /// Which.
    pub name: EnvName,
    /// Why.
    pub why: String,
}

/// The secrets of a plan.
pub struct Secrets {
    declared: Vec<Secret>,
    host: Arc<Host>,
    root: PathBuf,
    /// The state folder, which secrets of connections are in.
    state: PathBuf,
    hands: Hands,
    everybodys: Everybodys,
    /// What is read; held while one is read, so that none is read twice.
    known: Mutex<Known>,
    /// What programs that print some may be.
    pins: Option<Arc<Pins>>,
}

#[derive(Default)]
struct Known {
    values: BTreeMap<EnvName, Hidden>,
    /// What variables and files held when a mask was first made; None before that.
    early: Option<Vec<Hidden>>,
}

impl From<&str> for Hidden {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl Hidden {
    /// The value itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// How secrets travel to the process that must not show them: on a socket of their owner, and
/// nowhere else.
pub(super) mod exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Hidden;

    pub(in crate::exec) fn serialize<S: Serializer>(
        secrets: &[Hidden],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(secrets.iter().map(Hidden::expose))
    }

    pub(in crate::exec) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Hidden>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts
            .iter()
            .map(|text| Hidden::from(text.as_str()))
            .collect())
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.declared.iter().map(|secret| &secret.name))
            .finish()
    }
}

impl Secrets {
    /// Takes the declarations; nothing is read yet.
    pub fn new(
        declared: Vec<Secret>,
        host: Arc<Host>,
        (root, state): (PathBuf, PathBuf),
        hands: Hands,
    ) -> Self {
        Self {
            declared,
            host,
            root,
            state,
            hands,
            everybodys: Everybodys::default(),
            known: Mutex::default(),
            pins: None,
        }
    }

    /// Executes only what was approved.
    #[must_use]
    pub fn pinned(self, pins: Option<Arc<Pins>>) -> Self {
        Self { pins, ..self }
    }

    /// Shares what is known with others.
    #[must_use]
    pub fn with(self, everybodys: Everybodys) -> Self {
        Self { everybodys, ..self }
    }

    /// A secret's value, read if it was not read before.
    pub async fn get(&self, name: &EnvName) -> Result<Hidden, BadSecret> {
        let mut known = self.known.lock().await;
        if let Some(value) = known.values.get(name) {
            return Ok(value.clone());
        }
        let value = self.read(name).await.map_err(|why| BadSecret {
            name: name.clone(),
            why,
        })?;
        known.values.insert(name.clone(), value.clone());
        Ok(value)
    }

    /// What a mask must hide: every value read so far, here or in another run of the program, and
    /// from the beginning what variables and files hold. To ask a program or a keyring for what
    /// nobody needs yet could disturb somebody.
    pub async fn known(&self) -> Vec<Hidden> {
        let mut known = self.known.lock().await;
        let early = known.early.get_or_insert_with(|| self.early()).clone();
        let masked = self.declared.iter().filter(|secret| secret.masked);
        let read = masked.filter_map(|secret| known.values.get(&secret.name).cloned());
        let mut all = self
            .everybodys
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        all.extend(early.into_iter().chain(read));
        all.iter().cloned().collect()
    }

    /// What can be known without asking anybody. It may still change before it is needed.
    fn early(&self) -> Vec<Hidden> {
        let masked = self.declared.iter().filter(|secret| secret.masked);
        let bytes = masked.filter_map(|secret| match &secret.source {
            SecretSource::Env(variable) => of_variable(&self.host, variable).ok(),
            SecretSource::File(path) => of_file(&self.root.join(path)).ok(),
            SecretSource::Command(_)
            | SecretSource::Keyring { .. }
            | SecretSource::Connection { .. } => None,
        });
        let values = bytes.filter_map(|bytes| value(bytes).ok());
        values
            .filter(|value| weakness(value.expose()).is_none())
            .collect()
    }

    async fn read(&self, name: &EnvName) -> Result<Hidden, String> {
        let secret = self.declared.iter().find(|secret| secret.name == *name);
        let secret = secret.ok_or("is not declared")?;
        let bytes = match &secret.source {
            SecretSource::Env(variable) => of_variable(&self.host, variable)?,
            SecretSource::File(path) => of_file(&self.root.join(path))?,
            SecretSource::Command(argv) => self.of_command(argv).await?,
            SecretSource::Keyring { service, account } => {
                super::keychain::read(service, account).await?
            }
            SecretSource::Connection { name, secret } => self.of_connection(name, secret)?,
        };
        let value = value(bytes)?;
        match weakness(value.expose()) {
            Some(weakness) if secret.masked => Err(format!(
                "is too weak to be hidden in logs: {weakness}; use a stronger value, or, if it may be seen, write `mask: false` in the plan"
            )),
            _ => Ok(value),
        }
    }

    fn of_connection(&self, name: &PlanId, secret: &RefId) -> Result<Vec<u8>, String> {
        let found = super::refs::secret(&self.state, name.as_str(), secret);
        let found = found.map_err(|why| {
            format!("the connection `{name}` does not give it: {why}; `wf connection list` lists those that there are")
        })?;
        Ok(found.expose().as_bytes().to_vec())
    }

    /// The program is the user's own, so it sees all of the engine's environment.
    async fn of_command(&self, argv: &[String]) -> Result<Vec<u8>, String> {
        let command = Command {
            argv: argv.to_vec(),
            env: (*self.host).clone().into_iter().collect(),
            cwd: self.root.clone(),
            sandbox: None,
            pins: self.pins.clone(),
            input: None,
        };
        let probe = Probe {
            command,
            timeout: PATIENCE,
            grace: Duration::from_secs(1),
            output: None,
            keep: LONGEST + 1,
        };
        let (_told, stop) = watch::channel(Stop::No);
        let probed = self.hands.probe(probe, stop).await;
        let program = argv.first().map_or("", String::as_str);
        match probed.exit {
            exit if exit.is_success() => Ok(probed.out),
            Exit::Unable { why, .. } => Err(why),
            exit => Err(format!("`{program}` was to print it: {exit}")),
        }
    }
}

/// The bytes of a source as a value, without one line end at their end.
pub(super) fn value(bytes: Vec<u8>) -> Result<Hidden, String> {
    if bytes.len() > LONGEST {
        return Err(format!("is longer than {} KiB", LONGEST / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text")?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    match text.strip_suffix('\r').unwrap_or(text) {
        "" => Err("is empty".into()),
        text => Ok(Hidden(text.into())),
    }
}

fn of_variable(host: &Host, name: &str) -> Result<Vec<u8>, String> {
    let value = host
        .get(name)
        .ok_or(format!("the variable {name} is not set"))?;
    Ok(value.clone().into_bytes())
}

fn of_file(path: &Path) -> Result<Vec<u8>, String> {
    let unable = |error| format!("cannot read {}: {error}", path.display());
    let mut bytes = Vec::new();
    // Without waiting: a pipe would hold the engine up until somebody writes to it.
    let opened = File::options()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    let regular = |file: File| {
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::Error::other("it is not a file"))
        }
    };
    opened
        .and_then(regular)
        .and_then(|file| file.take(LONGEST as u64 + 1).read_to_end(&mut bytes))
        .map_err(unable)?;
    Ok(bytes)
}
