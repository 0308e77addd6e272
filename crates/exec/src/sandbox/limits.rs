//! Limits on all processes of a sandbox together: control groups, where this process may create them.
//!
//! Only for requested limits: to put a process into a group, the system waits for all processors.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::process::Pid;

use wf_model::{DEFAULT_PROCESS_LIMIT, ResourceLimits};

use super::IsolationKind;
use crate::processes::control_group::membership;

/// A control group in every hierarchy that limits a resource. Removed on drop if all its processes
/// have exited.
#[derive(Debug, Default)]
pub(super) struct LimitGroup {
    folders: Vec<PathBuf>,
    isolation: Vec<IsolationKind>,
}

/// A limit and its files: of version 2, and of version 1.
struct CgroupLimit {
    controller: &'static str,
    isolation: IsolationKind,
    files: [&'static str; 2],
    most: String,
}

impl LimitGroup {
    /// Creates the groups for the given limits, as far as possible.
    pub(super) fn make(name: &str, limits: &ResourceLimits) -> Self {
        let memory = limits.memory.map(|most| CgroupLimit {
            controller: "memory",
            isolation: IsolationKind::Memory,
            files: ["memory.max", "memory.limit_in_bytes"],
            most: most.to_string(),
        });
        // Otherwise nothing counts the processes of root.
        let counts = numbers_are_own() || !rustix::process::geteuid().is_root();
        let processes = limits.processes.or((!counts).then_some(DEFAULT_PROCESS_LIMIT));
        let processes = processes.map(|most| CgroupLimit {
            controller: "pids",
            isolation: IsolationKind::Count,
            files: ["pids.max", "pids.max"],
            most: most.to_string(),
        });
        let membership_list = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut group = Self::default();
        for knob in memory.into_iter().chain(processes) {
            let created_group =
                newer(&membership_list, name, &knob).or_else(|| older(&membership_list, name, &knob));
            if let Some(folder) = created_group {
                group.isolation.push(knob.isolation);
                if !group.folders.contains(&folder) {
                    group.folders.push(folder);
                }
            }
        }
        group
    }

    /// Returns the guards in force.
    pub(super) fn isolation(&self) -> &[IsolationKind] {
        &self.isolation
    }

    /// Adds a process, and all processes it starts from now on, to the group.
    pub(super) fn admit(&self, process: Pid) -> io::Result<()> {
        let number = process.as_raw_nonzero().to_string();
        self.folders.iter().try_for_each(|folder| fs::write(folder.join("cgroup.procs"), &number))
    }

    /// True if a process in it was killed by lack of memory.
    pub(super) fn ran_out(&self) -> bool {
        let has_kill = |folder: &PathBuf| {
            let files = ["memory.events", "memory.oom_control"];
            let read = files.map(|file| fs::read_to_string(folder.join(file)).unwrap_or_default());
            let counts = |text: &String| {
                let mut lines = text.lines();
                lines.any(|line| matches!(line.split_once(' '), Some(("oom_kill", count)) if count != "0"))
            };
            read.iter().any(counts)
        };
        self.folders.iter().any(has_kill)
    }
}

impl Drop for LimitGroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Creates a group of version 2, beside the one of this process: a group with processes cannot
/// delegate.
fn newer(list: &str, name: &str, limit: &CgroupLimit) -> Option<PathBuf> {
    let own = membership(list, "")?;
    let mount = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .into_iter()
        .map(Path::new)
        .find(|mount| mount.join("cgroup.subtree_control").exists())?;
    let parent = mount.join(own.trim_start_matches('/'));
    let parent = if parent == mount { mount } else { parent.parent()? };
    let handed = || fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
    let hands = |list: String| list.split_whitespace().any(|controller| controller == limit.controller);
    if !hands(handed()) {
        let _ = fs::write(parent.join("cgroup.subtree_control"), format!("+{}", limit.controller));
    }
    if !hands(handed()) {
        return None;
    }
    create_group(parent.join(format!("wf-{name}")), limit.files[0], &limit.most)
}

/// Creates a group of version 1, below the one of this process.
fn older(list: &str, name: &str, limit: &CgroupLimit) -> Option<PathBuf> {
    let own = membership(list, limit.controller)?;
    let parent = Path::new("/sys/fs/cgroup").join(limit.controller).join(own.trim_start_matches('/'));
    create_group(parent.join(format!("wf-{name}")), limit.files[1], &limit.most)
}

fn create_group(folder: PathBuf, file: &str, most: &str) -> Option<PathBuf> {
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

/// True if the system limits the number of processes separately for each namespace.
pub(super) fn numbers_are_own() -> bool {
    own_numbers(&rustix::system::uname().release().to_string_lossy())
}

/// True if a kernel release, 6.14 or later, has a maximum process number for each namespace. In
/// older ones the number is global.
fn own_numbers(release: &str) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next().and_then(|part| part.parse::<u32>().ok());
    matches!((next(), next()), (Some(major), Some(minor)) if (major, minor) >= (6, 14))
}

#[cfg(test)]
mod tests {
    use super::own_numbers;

    #[test]
    fn only_newer_systems_have_numbers_for_each_namespace() {
        for (release, has) in [
            ("6.14.0", true),
            ("6.18.44-x", true),
            ("7.0", true),
            ("6.13.9", false),
            ("5.15.0-91-generic", false),
            ("", false),
        ] {
            assert_eq!(own_numbers(release), has, "{release}");
        }
    }
}
