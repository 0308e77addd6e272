//! What the stages of a sandbox and the keeper tell each other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Guard, Sandbox};
use crate::model::Class;

/// The word that makes this program a stage of a sandbox. It is no command that a person gives.
pub const WORD: &str = "__box";

/// The descriptor that an [`Order`] is read from, JSON. Standard input is the socket on which the
/// keeper says go and the stages tell [`Word`]s.
pub(super) const ORDER: i32 = 3;

/// The descriptor of the pipe that the command reads from, if it is fed.
pub(super) const FEED: i32 = 4;

/// The descriptor of the list of [`super::private`].
pub(super) const PRIVATE: i32 = 5;

/// What is to be executed, and how it is confined.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) sandbox: Sandbox,
    pub(super) argv: Vec<String>,
    /// The whole environment, `NAME=value`.
    pub(super) env: Vec<String>,
    pub(super) cwd: PathBuf,
    /// The `PATH` in it.
    pub(super) path: Option<String>,
    /// What it can read from its standard input.
    #[serde(default)]
    pub(super) input: Option<String>,
    /// Whether it reads from the pipe [`FEED`] in place of that.
    #[serde(default)]
    pub(super) fed: bool,
    /// What the keeper enforces from outside.
    pub(super) outside: Vec<Guard>,
}

/// What a stage tells the keeper; one line of JSON each.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// All that was asked for is enforced.
    Holds(Vec<Guard>),
    /// Something cannot be enforced, or the command cannot be started.
    Unable { why: String, class: Class },
    /// The command ended with this code.
    Code(i32),
    /// The command was ended by this signal.
    Signal(i32),
}

impl Word {
    /// Something that was asked for cannot be enforced.
    pub(super) fn unable(why: impl Into<String>) -> Self {
        Self::Unable {
            why: why.into(),
            class: Class::Environmental,
        }
    }
}
