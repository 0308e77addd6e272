//! A control group for everything that one supervisor starts, where the system permits one.
//!
//! A process cannot leave its group by dropping its parents, its session or its environment, so everything a dead
//! supervisor left is found in the group.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::tree::{self, LivingProcess};

/// The mount points of hierarchies: the only one of version 2, two of version 1 that exist on every
/// system with version 1, and the one of version 2 beside those. Version 1 comes before it because
/// a single-threaded process enters its groups at once: see [`enter`].
const MOUNTS: [(&str, &str); 4] = [
    ("", "/sys/fs/cgroup"),
    ("name=systemd", "/sys/fs/cgroup/systemd"),
    ("pids", "/sys/fs/cgroup/pids"),
    ("", "/sys/fs/cgroup/unified"),
];

/// The beginning of the name of a group.
const GROUP_PREFIX: &str = "wf-";

/// A control group this process has entered.
#[derive(Debug)]
pub(crate) struct ControlGroup(PathBuf);

impl ControlGroup {
    /// Creates a group below the one of this process and enters it; `None` where not permitted.
    pub(crate) fn enter(name: &str) -> Option<Self> {
        candidates(name).into_iter().find_map(|path| {
            let group = Self(path);
            fs::create_dir(&group.0).ok()?;
            let entered = enter(&group.0);
            if entered.is_err() {
                let _ = fs::remove_dir(&group.0);
            }
            entered.ok().map(|()| group)
        })
    }

    /// Returns the folder of the group.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the group and removes it.
    pub(crate) fn leave(&self) {
        let _ = self.0.parent().map(enter);
        let _ = fs::remove_dir(&self.0);
    }
}

/// Moves a process out of the group this one has entered, into the group around it.
pub(super) fn expel(pid: i32) {
    let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    for (controller, mount) in MOUNTS {
        let own = membership(&memberships, controller)
            .map(|path| Path::new(mount).join(path.trim_start_matches('/')));
        if let Some(own) = own.filter(|own| is_ours(own))
            && let Some(around) = own.parent()
        {
            let _ = fs::write(around.join("cgroup.procs"), pid.to_string());
        }
    }
}

/// True for a group a supervisor made.
fn is_ours(group: &Path) -> bool {
    group.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(GROUP_PREFIX))
}

/// Kills everything in the group of a dead process and removes the group. Its journal names the
/// group, if the process lived long enough to write it.
pub(crate) fn kill(name: &str, noted: Option<PathBuf>) {
    let likely = candidates(name).into_iter().filter(|path| path.exists());
    for group in noted.into_iter().chain(likely) {
        tree::kill_all(|| inside(&group));
        let _ = fs::remove_dir(&group);
    }
}

/// Returns the possible folders for a group: below the groups of this process.
fn candidates(name: &str) -> Vec<PathBuf> {
    let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let parents = MOUNTS.iter().filter_map(|(controller, mount)| {
        let path = membership(&memberships, controller)?;
        let parent = Path::new(mount).join(path.trim_start_matches('/'));
        parent.join("cgroup.procs").exists().then_some(parent)
    });
    parents.map(|parent| parent.join(format!("{GROUP_PREFIX}{name}"))).collect()
}

fn inside(group: &Path) -> Vec<LivingProcess> {
    let numbers = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let numbers = numbers.lines().filter_map(|line| line.parse().ok());
    numbers.filter_map(tree::process_by_id).filter(|process| !process.zombie).collect()
}

/// Moves this process into a group.
///
/// Before it moves a whole process, the system waits until no other one is starting or ending a thread, about 10 ms. A
/// single thread moves without that wait, but only in version 1; enough for a single-threaded process.
fn enter(group: &Path) -> io::Result<()> {
    let alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let single = group.join("tasks");
    if alone && single.exists() {
        return fs::write(single, "0");
    }
    fs::write(group.join("cgroup.procs"), "0")
}

/// Returns the group of a process in the hierarchy of a controller, from `/proc/self/cgroup`:
/// `number:controllers:path`.
pub(crate) fn membership<'a>(memberships: &'a str, controller: &str) -> Option<&'a str> {
    memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let is_listed = controllers.split(',').any(|listed| listed == controller);
        is_listed.then(|| fields.next()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::membership;

    #[test]
    fn groups_are_found_by_their_controller() {
        let told = "9:name=systemd:/user.slice\n5:cpu,cpuacct:/a:b\n8:pids:/\n0::/session-1.scope\n";
        for (controller, path) in [
            ("", Some("/session-1.scope")),
            ("name=systemd", Some("/user.slice")),
            ("cpuacct", Some("/a:b")),
            ("pids", Some("/")),
            ("memory", None),
        ] {
            assert_eq!(membership(told, controller), path, "{controller}");
        }
    }
}
