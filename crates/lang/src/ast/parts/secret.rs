use super::sound;
use crate::decode::{MappingFields, SpecDecoder, record, words};
use wf_base::{
    diag::{Code, Diagnostic},
    keywords,
    name::{PlanId, RefId},
    source::Spanned,
};

record! {
    /// A secret value and its source.
    pub struct SecretSpec as "a secret" {
        /// The kind of its source.
        required from: Spanned<SecretSourceKind>,
        /// With `from: env`: the variable of the engine's own environment.
        optional name: String,
        /// With `from: file`: the file, relative to the workspace.
        optional path: String,
        /// With `from: command`: the program and its arguments.
        optional run: Vec<String>,
        /// With `from: keyring`: the service of the entry.
        optional service: String,
        /// With `from: keyring`: the account of the entry.
        optional account: String,
        /// With `from: connection`: the connection.
        optional connection: Spanned<PlanId>,
        /// With `from: connection`: the name of the secret in the connection.
        optional secret: Spanned<RefId>,
        /// True if it is masked in output and records: `true` if absent. With `false` it may be a
        /// short or an everyday word.
        optional mask: bool,
    }
    finish check_source_keys;
}

keywords! {
    listed
    /// The kind of a secret's source.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SecretSourceKind {
        /// `env`
        Env = "env",
        /// `file`
        File = "file",
        /// `command`
        Command = "command",
        /// `keyring`
        Keyring = "keyring",
        /// `connection`
        Connection = "connection",
    }
}

words!(SecretSourceKind);

/// Checks that a secret has the keys its source needs, and no other.
fn check_source_keys(secret: &mut SecretSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let argv = secret.run.as_ref().map(Vec::len);
    sound::check_program(argv, fields.key("run"), decoder);
    let (from, keys): (_, &[&str]) = match secret.from.value {
        SecretSourceKind::Env => ("env", &["name"]),
        SecretSourceKind::File => ("file", &["path"]),
        SecretSourceKind::Command => ("command", &["run"]),
        SecretSourceKind::Keyring => ("keyring", &["service", "account"]),
        SecretSourceKind::Connection => ("connection", &["connection", "secret"]),
    };
    for name in ["name", "path", "run", "service", "account", "connection", "secret"] {
        let is_given = fields.has(name);
        if is_given == keys.contains(&name) {
            continue;
        }
        decoder.emit(if is_given {
            let message = format!("`{name}` is not supported by a secret with `from: {from}`");
            Diagnostic::new(Code::KeyUnknown, fields.key(name), message)
        } else {
            let message = format!("a secret with `from: {from}` requires the key `{name}`");
            Diagnostic::new(Code::KeyMissing, fields.head(), message)
        });
    }
    if secret.from.value == SecretSourceKind::Keyring && !crate::READS_KEYRING {
        decoder.emit(keyring_unsupported(secret));
    }
}

/// Returns the mistake of a keyring, which this program cannot read.
fn keyring_unsupported(secret: &SecretSpec) -> Diagnostic {
    let word = |text: &Option<String>, default| text.clone().unwrap_or(default);
    let service = word(&secret.service, "SERVICE".into());
    let account = word(&secret.account, "ACCOUNT".into());
    let message = "this wf was built without the `keyring` feature";
    Diagnostic::new(Code::FeatureMissing, secret.from.span, message).with_help(format!(
        "build it with `cargo install --path . --features keyring`, or use a command: `{{from: \
         command, run: [secret-tool, lookup, service, {service}, username, {account}]}}`"
    ))
}
