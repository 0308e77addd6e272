//! A control group for everything that one keeper starts, where the system lets us have one.
//!
//! Nothing that is started in a group leaves it by forgetting its parents, its session or its
//! environment, so what a dead keeper left is found in it whatever it did.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::tree::{self, Living};

/// Where hierarchies are mounted: the only one of version 2, two of version 1 that every system has
/// which has any, and the one of version 2 beside those. Version 1 comes before it because a process
/// of one thread gets into a group of it at once: see [`enter`].
const MOUNTS: [(&str, &str); 4] = [
    ("", "/sys/fs/cgroup"),
    ("name=systemd", "/sys/fs/cgroup/systemd"),
    ("pids", "/sys/fs/cgroup/pids"),
    ("", "/sys/fs/cgroup/unified"),
];

/// A control group that this process has put itself into.
#[derive(Debug)]
pub(super) struct Group(PathBuf);

impl Group {
    /// Makes a group below the one of this process and enters it; `None` where that may not be.
    pub(super) fn enter(name: &str) -> Option<Self> {
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

    /// Its folder.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the group and removes it.
    pub(super) fn leave(&self) {
        let _ = self.0.parent().map(enter);
        let _ = fs::remove_dir(&self.0);
    }
}

/// Kills everything in the group of a process that died, and removes it. Where it is, its journal
/// says, if it lived to write it.
pub(super) fn kill(name: &str, noted: Option<PathBuf>) {
    let likely = candidates(name).into_iter().filter(|path| path.exists());
    for group in noted.into_iter().chain(likely) {
        tree::kill_all(|| inside(&group));
        let _ = fs::remove_dir(&group);
    }
}

/// Where a group could be made: below the groups of this process.
fn candidates(name: &str) -> Vec<PathBuf> {
    let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let parents = MOUNTS.iter().filter_map(|(controller, mount)| {
        let path = membership(&memberships, controller)?;
        let parent = Path::new(mount).join(path.trim_start_matches('/'));
        parent.join("cgroup.procs").exists().then_some(parent)
    });
    parents
        .map(|parent| parent.join(format!("wf-{name}")))
        .collect()
}

/// What lives in a group.
fn inside(group: &Path) -> Vec<Living> {
    let numbers = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let numbers = numbers.lines().filter_map(|line| line.parse().ok());
    numbers
        .filter_map(tree::living)
        .filter(|one| !one.zombie)
        .collect()
}

/// Puts this process into a group.
///
/// To move a whole process the system first waits until no other one is starting or ending a thread,
/// which takes it some 10 ms. Of a single thread, which has nobody to wait for, only version 1 lets
/// us move just that; and of a process of one thread, that is all.
fn enter(group: &Path) -> io::Result<()> {
    let alone = fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    let single = group.join("tasks");
    if alone && single.exists() {
        return fs::write(single, "0");
    }
    fs::write(group.join("cgroup.procs"), "0")
}

/// The group of a process in the hierarchy of a controller, as `/proc/self/cgroup` tells it:
/// `number:controllers:path`.
pub(super) fn membership<'a>(memberships: &'a str, controller: &str) -> Option<&'a str> {
    memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let found = controllers.split(',').any(|known| known == controller);
        found.then(|| fields.next()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::membership;

    #[test]
    fn groups_are_found_by_their_controller() {
        let told =
            "9:name=systemd:/user.slice\n5:cpu,cpuacct:/a:b\n8:pids:/\n0::/session-1.scope\n";
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
