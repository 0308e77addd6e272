use super::sound;
use crate::diag::{Code, Diagnostic};
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
fn one_source(secret: &mut Secret, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let argv = secret.run.as_ref().map(Vec::len);
    sound::some_program(argv, fields.key("run"), decoder);
    let (from, key) = match secret.from.value {
        SecretFrom::Env => ("env", "name"),
        SecretFrom::File => ("file", "path"),
        SecretFrom::Command => ("command", "run"),
    };
    for name in ["name", "path", "run"] {
        let is_given = fields.has(name);
        if is_given == (name == key) {
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
}
