//! Secrets: read when first needed, once per run, and never shown.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use wf_base::{
    name::{EnvName, PlanId, RefId},
    redact::{SecretFingerprint, SecretMask, SecretWeakness, weakness},
};
use wf_core::machine::WorkExit;
use wf_model::{SecretDeclaration, SecretSource};

use super::{connection_secrets::ConnectionSecretError, keychain::KeyringError};
use crate::{
    HostEnv,
    disk::files,
    pinned::PinnedFiles,
    processes::{
        probe::{ProbeJob, ProbeRole},
        process::ProcessCommand,
    },
    work::executor::ProcessExecutor,
    work_error::StopLevel,
};

pub mod record;
#[cfg(test)]
mod tests;

/// The longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 64 * 1024;

/// The timeout for a program printing a secret: it may have to query a vault.
const SECRET_PROGRAM_TIMEOUT: Duration = Duration::from_secs(30);

/// A value never to be shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretText(Arc<str>);

/// All values known to the runs of this process, and the traces of earlier ones: a run may encounter the secrets of
/// another, above all those of its parent run.
#[derive(Clone, Debug, Default)]
pub struct SharedRedactions(Arc<std::sync::Mutex<AllRedactions>>);

#[derive(Debug, Default)]
struct AllRedactions {
    secrets: BTreeSet<SecretText>,
    fingerprints: BTreeSet<SecretFingerprint>,
}

/// The texts never to be stored or shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redactions {
    #[serde(with = "exposed")]
    pub secrets: Vec<SecretText>,
    /// The traces of values that secrets had when earlier steps were given them.
    #[serde(default)]
    pub fingerprints: Vec<SecretFingerprint>,
}

impl Redactions {
    /// Builds the mask; slow where there are many.
    pub fn mask(&self) -> SecretMask {
        SecretMask::new(self.secrets.iter().map(SecretText::expose)).with_fingerprints(&self.fingerprints)
    }
}

impl SharedRedactions {
    /// Adds traces of a value a secret had earlier, unless the value is known.
    pub fn remember(&self, fingerprint: SecretFingerprint) {
        let mut redactions = crate::runtime::lock_mutex(&self.0);
        if !redactions.secrets.iter().any(|secret| fingerprint.is_of(secret.expose())) {
            redactions.fingerprints.insert(fingerprint);
        }
    }
}

/// The reason why a secret has no value. Names the secret, never its value.
#[derive(Debug, thiserror::Error)]
#[error("secret `{name}`: {error}")]
pub struct SecretError {
    pub name: EnvName,
    pub error: SecretSourceError,
}

/// The fault in the source of a secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretSourceError {
    #[error("is not declared")]
    Undeclared,
    #[error("environment variable {0} is not set")]
    NoVariable(String),
    #[error("cannot read {}: {cause}", .path.display())]
    File { path: PathBuf, cause: io::Error },
    /// The program cannot be executed.
    #[error("{0}")]
    NotStarted(String),
    #[error("`{program}`, which prints it, failed: {exit}")]
    Program { program: String, exit: WorkExit },
    #[error("keyring entry of service `{service}`, account `{account}`: {error}")]
    Keyring { service: String, account: String, error: KeyringError },
    #[error("cannot get it from connection `{name}`: {error}; see `wf connection list`")]
    Connection { name: PlanId, error: ConnectionSecretError },
    #[error(transparent)]
    Value(#[from] SecretValueError),
    #[error(
        "is too weak to be masked in logs: {0}; use a stronger value, or set `mask: false` in the plan if it may be \
         visible"
    )]
    Weak(SecretWeakness),
    #[error("cannot record its fingerprint in {}: {cause}", .run.display())]
    Unrecorded { run: PathBuf, cause: io::Error },
}

/// The reason why bytes are not the value of a secret, as it follows the name of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretValueError {
    #[error("is longer than {} KiB", MAX_SECRET_BYTES / 1024)]
    TooLong,
    #[error("is not UTF-8 text")]
    NotText,
    #[error("is empty")]
    Empty,
}

/// The secrets of a plan.
pub struct PlanSecrets {
    declared: Vec<SecretDeclaration>,
    host: Arc<HostEnv>,
    root: PathBuf,
    /// The state folder, which contains the secrets of connections.
    state: PathBuf,
    executor: ProcessExecutor,
    shared_redactions: SharedRedactions,
    /// The values read so far; locked during a read, so that none is read twice.
    known: Mutex<KnownSecrets>,
    /// The pins for programs printing secrets.
    pinned_files: Option<Arc<PinnedFiles>>,
    /// The folder of the run with the record of given secrets.
    run: Option<PathBuf>,
}

#[derive(Default)]
struct KnownSecrets {
    values: BTreeMap<EnvName, SecretText>,
    /// The values of variables and files when a mask was first built; `None` before.
    early_secrets: Option<Vec<SecretText>>,
}

impl From<&str> for SecretText {
    fn from(value: &str) -> Self {
        Self(value.into())
    }
}

impl SecretText {
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// The serialization of secrets for the process that must hide them: only over a socket of their
/// owner.
pub(super) mod exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::SecretText;

    pub(crate) fn serialize<S: Serializer>(secrets: &[SecretText], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(secrets.iter().map(SecretText::expose))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<SecretText>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        Ok(texts.iter().map(|text| SecretText::from(text.as_str())).collect())
    }
}

impl std::fmt::Debug for SecretText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

impl std::fmt::Debug for PlanSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.declared.iter().map(|secret| &secret.name)).finish()
    }
}

impl PlanSecrets {
    /// Creates the secrets from their declarations; nothing is read yet.
    pub fn new(
        declared: Vec<SecretDeclaration>,
        host: Arc<HostEnv>,
        root: &Path,
        state: &Path,
        executor: ProcessExecutor,
    ) -> Self {
        Self {
            declared,
            host,
            root: root.to_path_buf(),
            state: state.to_path_buf(),
            executor,
            shared_redactions: SharedRedactions::default(),
            known: Mutex::default(),
            pinned_files: None,
            run: None,
        }
    }

    /// Restricts programs to the approved ones.
    #[must_use]
    pub fn pinned(self, pinned_files: Option<Arc<PinnedFiles>>) -> Self {
        Self { pinned_files, ..self }
    }

    /// Records in the folder of a run what its steps are given.
    #[must_use]
    pub fn recorded_in(self, run: &Path) -> Self {
        Self { run: Some(run.to_path_buf()), ..self }
    }

    /// Shares the known values with other runs.
    #[must_use]
    pub fn with(self, redactions: SharedRedactions) -> Self {
        Self { shared_redactions: redactions, ..self }
    }

    /// Returns a secret's value, which is read once.
    pub async fn get_secret(&self, name: &EnvName) -> Result<SecretText, SecretError> {
        let mut secrets = self.known.lock().await;
        if let Some(value) = secrets.values.get(name) {
            return Ok(value.clone());
        }
        let failed = |error| SecretError { name: name.clone(), error };
        let value = self.read(name).await.map_err(failed)?;
        let is_masked = self.declared.iter().any(|secret| secret.name == *name && secret.masked);
        if let Some(run) = self.run.as_ref().filter(|_| is_masked) {
            let recorded = record::add(run, name, value.expose());
            recorded.map_err(|cause| failed(SecretSourceError::Unrecorded { run: run.clone(), cause }))?;
        }
        secrets.values.insert(name.clone(), value.clone());
        Ok(value)
    }

    /// Returns the values a mask must hide: every value read so far, here or in another run of the process, and from
    /// the start those of variables and files. Programs and keyrings are not queried before a value is needed: a prompt
    /// could disturb the user.
    pub async fn known(&self) -> Vec<SecretText> {
        let mut secrets = self.known.lock().await;
        let early = secrets.early_secrets.get_or_insert_with(|| self.early()).clone();
        let masked = self.declared.iter().filter(|secret| secret.masked);
        let read = masked.filter_map(|secret| secrets.values.get(&secret.name).cloned());
        let mut redactions = crate::runtime::lock_mutex(&self.shared_redactions.0);
        redactions.secrets.extend(early.into_iter().chain(read));
        redactions.secrets.iter().cloned().collect()
    }

    /// Returns everything a mask must hide: [`Self::known`], and the traces of earlier values.
    pub async fn redactions(&self) -> Redactions {
        let secrets = self.known().await;
        let fingerprints =
            crate::runtime::lock_mutex(&self.shared_redactions.0).fingerprints.iter().cloned().collect();
        Redactions { secrets, fingerprints }
    }

    /// Returns the values known without a query. They may still change before they are needed.
    fn early(&self) -> Vec<SecretText> {
        let masked = self.declared.iter().filter(|secret| secret.masked);
        let bytes = masked.filter_map(|secret| match &secret.source {
            SecretSource::Env(variable) => of_variable(&self.host, variable).ok(),
            SecretSource::File(path) => of_file(&self.root.join(path)).ok(),
            SecretSource::Command(_) | SecretSource::Keyring { .. } | SecretSource::Connection { .. } => None,
        });
        let values = bytes.filter_map(|bytes| value(bytes).ok());
        values.filter(|value| weakness(value.expose()).is_none()).collect()
    }

    async fn read(&self, name: &EnvName) -> Result<SecretText, SecretSourceError> {
        let secret = self.declared.iter().find(|secret| secret.name == *name);
        let secret = secret.ok_or(SecretSourceError::Undeclared)?;
        let bytes = match &secret.source {
            SecretSource::Env(variable) => of_variable(&self.host, variable)?,
            SecretSource::File(path) => of_file(&self.root.join(path))?,
            SecretSource::Command(argv) => self.of_command(argv).await?,
            SecretSource::Keyring { service, account } => {
                let secret = super::keychain::read_secret(service, account).await;
                secret.map_err(|error| SecretSourceError::Keyring {
                    service: service.clone(),
                    account: account.clone(),
                    error,
                })?
            }
            SecretSource::Connection { name, secret } => self.of_connection(name, secret)?,
        };
        let value = value(bytes)?;
        match weakness(value.expose()) {
            Some(weakness) if secret.masked => Err(SecretSourceError::Weak(weakness)),
            _ => Ok(value),
        }
    }

    fn of_connection(&self, name: &PlanId, secret: &RefId) -> Result<Vec<u8>, SecretSourceError> {
        let secret_text = super::connection_secrets::secret(&self.state, name.as_str(), secret);
        let secret_text =
            secret_text.map_err(|error| SecretSourceError::Connection { name: name.clone(), error })?;
        Ok(secret_text.expose().as_bytes().to_vec())
    }

    /// Runs the user's own program, which sees all of the engine's environment.
    async fn of_command(&self, argv: &[String]) -> Result<Vec<u8>, SecretSourceError> {
        let env = (*self.host).clone().into_iter().collect();
        let command = ProcessCommand {
            pins: self.pinned_files.clone(),
            ..ProcessCommand::new(argv.to_vec(), env, self.root.clone())
        };
        let probe = ProbeJob {
            command,
            timeout: SECRET_PROGRAM_TIMEOUT,
            grace: Duration::from_secs(1),
            output: None,
            role: ProbeRole::Observer,
            keep: MAX_SECRET_BYTES + 1,
        };
        let probed = self.executor.probe(probe, StopLevel::never()).await;
        match probed.exit {
            exit if exit.is_success() => Ok(probed.out),
            WorkExit::Error { reason, .. } => Err(SecretSourceError::NotStarted(reason)),
            exit => {
                let program = argv.first().cloned().unwrap_or_default();
                Err(SecretSourceError::Program { program, exit })
            }
        }
    }
}

/// Converts the bytes of a source into a value, without one trailing newline.
pub(super) fn value(bytes: Vec<u8>) -> Result<SecretText, SecretValueError> {
    if bytes.len() > MAX_SECRET_BYTES {
        return Err(SecretValueError::TooLong);
    }
    let text = String::from_utf8(bytes).map_err(|_| SecretValueError::NotText)?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    match text.strip_suffix('\r').unwrap_or(text) {
        "" => Err(SecretValueError::Empty),
        text => Ok(SecretText(text.into())),
    }
}

fn of_variable(host: &HostEnv, name: &str) -> Result<Vec<u8>, SecretSourceError> {
    let value = host.get(name).ok_or_else(|| SecretSourceError::NoVariable(name.to_owned()))?;
    Ok(value.clone().into_bytes())
}

fn of_file(path: &Path) -> Result<Vec<u8>, SecretSourceError> {
    let unable = |cause| SecretSourceError::File { path: path.to_owned(), cause };
    let opened = files::open_regular(path, OFlags::RDONLY);
    opened.and_then(|file| files::read_bounded(file, MAX_SECRET_BYTES as u64 + 1)).map_err(unable)
}
