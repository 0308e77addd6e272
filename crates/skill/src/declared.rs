use std::collections::{BTreeMap, BTreeSet};

/// The declarations of a skill about its scripts in `metadata.wf`. Its reader fills them in;
/// without them a script has no variables of its own and no network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptDeclarations {
    /// The scripts, by path relative to the skill.
    pub scripts: BTreeMap<String, ScriptDeclaration>,
}

/// The declarations of a skill about one script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptDeclaration {
    /// The environment variables that it is given, by name.
    pub env: BTreeSet<String>,
    /// True if it may use the network.
    pub net: bool,
    /// The files and folders that it may read in addition to the workspace.
    pub read: Vec<String>,
    /// The files and folders of the workspace that it may write.
    pub write: Vec<String>,
    /// The programs that it may start; `None`: every program that it can read.
    pub exec: Option<Vec<String>>,
    /// True if an install tries it, in the sandbox.
    pub is_tried: bool,
}
