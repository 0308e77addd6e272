//! The processes that an attempt left running.

use serde::{Deserialize, Serialize};

/// A process that was still running when the attempt that started it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftProcess {
    /// Its id.
    pub pid: i32,
    /// Its start in clock ticks since the boot: with the id, no other process of that boot has it.
    pub start_ticks: u64,
    /// Its command line, masked and cut; without its environment.
    pub command: String,
}

/// The processes that an attempt left running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LeftProcesses {
    /// True if a process that it started lives on, for later steps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub service: bool,
    /// The processes that it left running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<LeftProcess>,
    /// The boot of the machine that they run on.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub boot_id: String,
    /// True if they outlive the run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
}

impl LeftProcesses {
    /// Returns the command lines, in one line.
    pub fn commands(&self) -> String {
        let commands: Vec<&str> = self.left.iter().map(|process| process.command.as_str()).collect();
        commands.join(", ")
    }
}
