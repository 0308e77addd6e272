use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Control;
use crate::model::Limits;

/// What a process may see and do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    /// The workspace's root; absolute.
    pub root: PathBuf,
    /// How the workspace is seen.
    pub layer: Layer,
    /// Folders and files that may be read besides those of the system; absolute. What is not there is
    /// left out.
    pub read: Vec<PathBuf>,
    /// What of the system may be read although others cannot read it, because somebody asked for it;
    /// absolute.
    pub granted: Vec<PathBuf>,
    /// Folders that seem to be empty wherever they would be seen; absolute.
    pub hidden: Vec<PathBuf>,
    /// The home folder: empty and writable, but for what may be read in it.
    pub home: Option<PathBuf>,
    /// Whether the network may be used.
    pub network: bool,
    /// The only programs that may be executed; `None`: any.
    pub programs: Option<Vec<String>>,
    /// What it may use at most. Limits that are not given have defaults, which are enforced where
    /// the machine can; those that are given must be.
    pub limits: Limits,
}

impl Sandbox {
    /// What no grant of the workspace reaches, as it is now.
    pub fn control(&self) -> Option<Control> {
        match &self.layer {
            Layer::Direct { write, control, .. } if !write.is_empty() => {
                Some(Control::look(&self.root, control, write))
            }
            Layer::Direct { .. } | Layer::Scratch { .. } => None,
        }
    }

    /// Lets one more program be executed, where only some are.
    pub fn starts(&mut self, program: Option<&String>) {
        if let (Some(programs), Some(program)) = (&mut self.programs, program)
            && !programs.contains(program)
        {
            programs.push(program.clone());
        }
    }
}

/// How a sandbox shows the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// As it is, and whatever is written to it is thrown away.
    Scratch {
        /// What is in it and does not seem to be, relative to the workspace.
        #[serde(default)]
        whiteouts: Vec<PathBuf>,
    },
    /// The workspace itself. All of it may be read, and only this written.
    Direct {
        /// Folders and files, relative to the workspace. A folder that is not there is made.
        write: Vec<String>,
        /// Files and folders anywhere that may be written, and exist.
        files: Vec<PathBuf>,
        /// What is not written although it lies in a folder that is: relative to the workspace.
        #[serde(default)]
        control: Vec<String>,
        /// What of it seems to be empty: relative to the workspace.
        #[serde(default)]
        unseen: Vec<PathBuf>,
    },
}
