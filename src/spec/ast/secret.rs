use crate::diag::{Code, Diagnostic};
use crate::source::{Span, Spanned};
use crate::spec::decode::{Decoder, record, words};

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
}

words!(SecretFrom {
    "env" => Self::Env,
    "file" => Self::File,
    "command" => Self::Command,
} later { "keyring" });

/// A secret has the one key that its source needs, and no other.
fn one_source(secret: Secret, head: Span, decoder: &mut Decoder<'_>) -> Option<Secret> {
    let (from, key) = match secret.from.value {
        SecretFrom::Env => ("env", "name"),
        SecretFrom::File => ("file", "path"),
        SecretFrom::Command => ("command", "run"),
    };
    let given = [
        ("name", secret.name.is_some()),
        ("path", secret.path.is_some()),
        (
            "run",
            secret.run.as_ref().is_some_and(|run| !run.is_empty()),
        ),
    ];
    for (name, is_given) in given {
        if is_given == (name == key) {
            continue;
        }
        decoder.note(if is_given {
            let message = format!("a secret with `from: {from}` has no key `{name}`");
            Diagnostic::new(Code::KeyUnknown, head, message)
        } else {
            let message = format!("a secret with `from: {from}` needs the key `{name}`");
            Diagnostic::new(Code::KeyMissing, head, message)
        });
    }
    Some(secret)
}
