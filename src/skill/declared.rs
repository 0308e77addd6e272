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
    /// The flags that an install tries it with, in the sandbox; `None`: it is not tried.
    pub dry_run: Option<Vec<String>>,
}
