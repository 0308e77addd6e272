use std::collections::{BTreeMap, BTreeSet};

/// What a skill declares of its scripts in `metadata.wf`. Whoever reads that fills it; without it
/// a script has no variables of its own and no network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared {
    /// The scripts, by path relative to the skill.
    pub scripts: BTreeMap<String, DeclaredScript>,
}

/// What a skill declares of one script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeclaredScript {
    /// The variables of the environment that it is given, by name.
    pub env: BTreeSet<String>,
    /// Whether it may use the network.
    pub net: bool,
    /// The files and folders that it may read besides the workspace.
    pub read: Vec<String>,
    /// The files and folders of the workspace that it may change.
    pub write: Vec<String>,
    /// The programs that it may start; `None`: all that it can read.
    pub exec: Option<Vec<String>>,
    /// Whether an install tries it, in the sandbox.
    pub is_tried: bool,
}
