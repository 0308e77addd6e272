use serde::{Deserialize, Serialize};

/// One thing that a sandbox enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Only what is shown can be read, and only scratch, or what is allowed, written.
    Files,
    /// What is written to the workspace is thrown away.
    Scratch,
    /// There is no network but its own loopback.
    Network,
    /// Processes outside can be neither seen nor signalled, and all of its own end with it.
    Processes,
    /// It has a namespace of users: it is nobody outside.
    Users,
    /// No file is written, and nothing is executed, beyond the rules of Landlock.
    Landlock,
    /// System calls that a program does not need and a sandbox fears are refused.
    Seccomp,
    /// Its memory is limited.
    Memory,
    /// Its processor time is limited.
    Cpu,
    /// The number of its processes is limited.
    Count,
}
