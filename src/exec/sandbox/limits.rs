//! Limits on all processes of a sandbox together: control groups, where this process may make them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::Guard;
use crate::exec::contain::membership;
use crate::model::Limits;

/// How much memory is used at most if nothing is said, in bytes.
pub(super) const MEMORY: u64 = 4 << 30;

/// How many processes there are at most if nothing is said.
pub(super) const PROCESSES: u32 = 1024;

/// A control group in every hierarchy that limits something. Removed when it is dropped, if
/// everything in it has ended.
#[derive(Debug, Default)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    guards: Vec<Guard>,
}

/// How a limit is written: the file of version 2, and that of version 1.
struct Knob {
    controller: &'static str,
    guard: Guard,
    files: [&'static str; 2],
    most: String,
}

impl Group {
    /// Makes the groups that can be made.
    pub(super) fn make(name: &str, limits: &Limits) -> Self {
        let memory = limits.memory.unwrap_or(MEMORY);
        let processes = limits.processes.unwrap_or(PROCESSES);
        let knobs = [
            Knob {
                controller: "memory",
                guard: Guard::Memory,
                files: ["memory.max", "memory.limit_in_bytes"],
                most: memory.to_string(),
            },
            Knob {
                controller: "pids",
                guard: Guard::Count,
                files: ["pids.max", "pids.max"],
                most: processes.to_string(),
            },
        ];
        let told = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut group = Self::default();
        for knob in knobs {
            let made = newer(&told, name, &knob).or_else(|| older(&told, name, &knob));
            if let Some(folder) = made {
                group.guards.push(knob.guard);
                if !group.folders.contains(&folder) {
                    group.folders.push(folder);
                }
            }
        }
        group
    }

    /// What it enforces.
    pub(super) fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// Puts a process, and all that it starts from now on, into the group.
    pub(super) fn admit(&self, process: Pid) -> io::Result<()> {
        let number = process.as_raw_nonzero().to_string();
        self.folders
            .iter()
            .try_for_each(|folder| fs::write(folder.join("cgroup.procs"), &number))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A group of version 2, beside the one of this process: a group with processes cannot hand
/// anything down.
fn newer(told: &str, name: &str, knob: &Knob) -> Option<PathBuf> {
    let own = membership(told, "")?;
    let mount = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .into_iter()
        .map(Path::new)
        .find(|mount| mount.join("cgroup.subtree_control").exists())?;
    let parent = mount.join(own.trim_start_matches('/'));
    let parent = if parent == mount {
        mount
    } else {
        parent.parent()?
    };
    let handed = || fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
    let hands = |list: String| list.split_whitespace().any(|one| one == knob.controller);
    if !hands(handed()) {
        let _ = fs::write(
            parent.join("cgroup.subtree_control"),
            format!("+{}", knob.controller),
        );
    }
    if !hands(handed()) {
        return None;
    }
    made(parent.join(format!("wf-{name}")), knob.files[0], &knob.most)
}

/// A group of version 1, below the one of this process.
fn older(told: &str, name: &str, knob: &Knob) -> Option<PathBuf> {
    let own = membership(told, knob.controller)?;
    let parent = Path::new("/sys/fs/cgroup")
        .join(knob.controller)
        .join(own.trim_start_matches('/'));
    made(parent.join(format!("wf-{name}")), knob.files[1], &knob.most)
}

fn made(folder: PathBuf, file: &str, most: &str) -> Option<PathBuf> {
    match fs::create_dir(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(_) => return None,
    }
    if fs::write(folder.join(file), most).is_err() {
        let _ = fs::remove_dir(&folder);
        return None;
    }
    Some(folder)
}
