use super::sound;
use crate::diag::{Code, Diagnostic};
use crate::name::{PlanId, RefId};
use crate::source::Spanned;
use crate::spec::decode::{Decoder, Fields, record, words};

record! {
    /// A value that must not be seen, and where it comes from.
    pub struct Secret as "a secret" {
        /// The kind of place it comes from.
        required from: Spanned<SecretFrom>,
        /// With `from: env`: the variable of the engine's own environment.
        optional name: String,
        /// With `from: file`: the file, relative to the workspace.
        optional path: String,
        /// With `from: command`: the program and its arguments.
        optional run: Vec<String>,
        /// With `from: keyring`: what the entry is for.
        optional service: String,
        /// With `from: keyring`: whose the entry is.
        optional account: String,
        /// With `from: connection`: the connection.
        optional connection: Spanned<PlanId>,
        /// With `from: connection`: what the secret is called there.
        optional secret: Spanned<RefId>,
        /// Whether it is looked for in what is shown and kept: `true` if absent. With `false` it
        /// may be a short or an everyday word.
        optional mask: bool,
    }
    finish one_source;
}

/// The kind of place a secret comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretFrom {
    /// `env`
    Env,
    /// `file`
    File,
    /// `command`
    Command,
    /// `keyring`
    Keyring,
    /// `connection`
    Connection,
}

words!(SecretFrom {
    "env" => Self::Env,
    "file" => Self::File,
    "command" => Self::Command,
    "keyring" => Self::Keyring,
    "connection" => Self::Connection,
});

/// A secret has the keys that its source needs, and no other.
fn one_source(secret: &mut Secret, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let argv = secret.run.as_ref().map(Vec::len);
    sound::some_program(argv, fields.key("run"), decoder);
    let (from, keys): (_, &[&str]) = match secret.from.value {
        SecretFrom::Env => ("env", &["name"]),
        SecretFrom::File => ("file", &["path"]),
        SecretFrom::Command => ("command", &["run"]),
        SecretFrom::Keyring => ("keyring", &["service", "account"]),
        SecretFrom::Connection => ("connection", &["connection", "secret"]),
    };
    for name in [
        "name",
        "path",
        "run",
        "service",
        "account",
        "connection",
        "secret",
    ] {
        let is_given = fields.has(name);
        if is_given == keys.contains(&name) {
            continue;
        }
        decoder.note(if is_given {
            let message = format!("a secret with `from: {from}` has no key `{name}`");
            Diagnostic::new(Code::KeyUnknown, fields.key(name), message)
        } else {
            let message = format!("a secret with `from: {from}` needs the key `{name}`");
            Diagnostic::new(Code::KeyMissing, fields.head(), message)
        });
    }
    if secret.from.value == SecretFrom::Keyring && !cfg!(feature = "keyring") {
        decoder.note(no_keyring(secret));
    }
}

/// This program cannot read keyrings; others can.
fn no_keyring(secret: &Secret) -> Diagnostic {
    let word = |text: &Option<String>, default| text.clone().unwrap_or(default);
    let service = word(&secret.service, "SERVICE".into());
    let account = word(&secret.account, "ACCOUNT".into());
    let message = "this wf was built without the feature `keyring`";
    Diagnostic::new(Code::KindNotBuilt, secret.from.span, message).help(format!(
        "build it with `cargo install --path . --features keyring`, or ask a program: `{{from: \
         command, run: [secret-tool, lookup, service, {service}, username, {account}]}}`"
    ))
}
