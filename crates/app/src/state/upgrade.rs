//! The changes this program makes to a state of an earlier version.

use std::{path::PathBuf, time::Duration};

use super::doctor::configured_retention;
use crate::{CommandError, Host};
use wf_base::name::RunId;
use wf_core::machine::LOGIC_VERSION;
use wf_store::{OpenRun, StateUpgrade};

/// The upgrade of a state, before it is made.
#[derive(Clone, Debug)]
pub struct UpgradeOutlook {
    /// The schema of the state.
    pub from: u32,
    /// The schema afterwards.
    pub to: u32,
    /// The program that opened the state last to write, if it is known.
    pub program: Option<String>,
    /// The copy of the state before.
    pub copy: PathBuf,
    /// The size of the copy, in bytes.
    pub copy_size: u64,
    /// The free space on its disk, in bytes, if it is known.
    pub free: Option<u64>,
    /// True if the copy has room there.
    pub has_room: bool,
    /// Its longest time on a slow disk.
    pub duration: Duration,
    /// The number of outermost runs beyond the limits of retention.
    pub exceeding_runs: usize,
    /// The number of outermost runs that have not ended.
    pub open_runs: usize,
    /// The open runs of other rules, each with the version of these.
    pub runs_of_other_rules: Vec<(RunId, u32)>,
}

impl UpgradeOutlook {
    /// Reads the state of the workspace; `None`: there is nothing to upgrade.
    pub fn read(host: &Host) -> Result<Option<Self>, CommandError> {
        let keep = configured_retention(host).unwrap_or_default();
        let upgrade = StateUpgrade::read(&host.workspace().state, keep, host.now())?;
        Ok(upgrade.map(Self::from))
    }
}

impl From<StateUpgrade> for UpgradeOutlook {
    fn from(upgrade: StateUpgrade) -> Self {
        let is_other = |run: &&OpenRun| run.logic_version != LOGIC_VERSION;
        let others = upgrade.open_runs.iter().filter(is_other);
        Self {
            has_room: upgrade.has_room(),
            duration: upgrade.duration(),
            open_runs: upgrade.open_runs.len(),
            runs_of_other_rules: others.map(|run| (run.run.clone(), run.logic_version)).collect(),
            from: upgrade.from,
            to: upgrade.to,
            program: upgrade.program,
            copy: upgrade.copy,
            copy_size: upgrade.copy_size,
            free: upgrade.free,
            exceeding_runs: upgrade.exceeding_runs,
        }
    }
}
