//! A script, and the values it gets and gives: variables, secrets, outputs.

use serde::Serialize;

use crate::{expr::Template, json::schema::ValueSchema, summary::shell_words};
use wf_base::name::{EnvName, Name, PlanId, RefId};

/// A script and the shell reading it.
#[derive(Clone, Debug, Serialize)]
pub struct ShellScript {
    /// The program and its arguments before the script, for example `["sh", "-c"]`.
    pub shell: Vec<String>,
    /// The script, never a template.
    pub text: String,
}

// A script in full, and the shell that reads it.
view! { script: ShellScript in Work {
    plain shell = shell_words(shell),
    plain text as "run",
} }

/// An environment variable.
#[derive(Clone, Debug, Serialize)]
pub struct EnvVar {
    pub name: EnvName,
    pub value: Template,
}

/// A secret value and its source.
#[derive(Clone, Debug, Serialize)]
pub struct SecretDeclaration {
    /// Its name in templates.
    pub name: EnvName,
    pub source: SecretSource,
    /// True if it is masked in output and stored text.
    pub masked: bool,
}

/// The source of a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// A variable of the engine's own environment.
    Env(String),
    /// A file, relative to the workspace; one trailing line end is cut.
    File(String),
    /// The output of a program; one trailing line end is cut.
    Command(Vec<String>),
    /// An entry in the keyring of the user.
    Keyring {
        /// The service of the entry.
        service: String,
        /// The account of the entry.
        account: String,
    },
    /// A secret of a connection of this workspace.
    Connection {
        /// The connection.
        name: PlanId,
        /// The name of the secret in the connection.
        secret: RefId,
    },
}

/// A required output of a step.
#[derive(Clone, Debug, Serialize)]
pub struct RequiredOutput {
    pub name: Name,
    /// The schema it must satisfy.
    pub schema: ValueSchema,
}
