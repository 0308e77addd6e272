//! Memory for one more process: where memory is limited, many at once must not take what `wf` itself needs.
//!
//! A process started while memory is short waits until others have ended. When it is exhausted nevertheless, the system
//! kills a process that `wf` started, rather than `wf`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock},
    time::Duration,
};

use rustix::process::Pid;
use tokio::{sync::watch, time::Instant};

use super::control_group::membership;
use crate::{runtime::lock_mutex, work_error::StopLevel};

/// The largest limit with a wait for memory. In more, steps run out of memory by their work, not by their number, and a wait
/// would only delay each of them.
const NARROW_BYTES: u64 = 2 << 30;

/// The free memory needed for a start.
const START_BYTES: u64 = 48 << 20;

/// The expected memory of a process just started, and not measured yet.
const EXPECTED_BYTES: u64 = 16 << 20;

/// The time until the memory of a process is measured.
const MEASURED_AFTER: Duration = Duration::from_millis(500);

/// The interval between looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The longest wait: after it, the process with the memory may itself wait for this one.
const MAX_WAIT: Duration = Duration::from_mins(1);

/// The number, of 1,000, that the system adds to the badness of a process when it looks for one to kill.
const KILLED_FIRST: &str = "500";

/// The processes with room.
static ROOMS: Mutex<OccupiedRooms> = Mutex::new(OccupiedRooms { running: 0, recent: Vec::new() });

/// The processes started and not yet ended, and when the last of them were started. Leftovers of steps are not among
/// them: nobody knows its end.
struct OccupiedRooms {
    running: usize,
    recent: Vec<Instant>,
}

/// The room of a process, until it has ended.
pub(crate) struct MemoryRoom {
    /// The time it took to get it.
    pub(crate) waited: Duration,
    is_counted: bool,
}

impl Drop for MemoryRoom {
    fn drop(&mut self) {
        if self.is_counted {
            lock_mutex(&ROOMS).running -= 1;
        }
    }
}

/// Waits until there is memory for one more process, where a control group limits it.
pub(crate) async fn wait_for_room(stop: &watch::Receiver<StopLevel>) -> MemoryRoom {
    if !limited_groups().iter().any(|(group, files)| files.is_narrow(group)) {
        return MemoryRoom { waited: Duration::ZERO, is_counted: false };
    }
    let began = Instant::now();
    while !lock_mutex(&ROOMS).enter(began.elapsed() >= MAX_WAIT || *stop.borrow() != StopLevel::No) {
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
    MemoryRoom { waited: began.elapsed(), is_counted: true }
}

impl OccupiedRooms {
    /// Notes a start, if there is room for it, if nothing else could make some, or in any case.
    fn enter(&mut self, in_any_case: bool) -> bool {
        let now = Instant::now();
        self.recent.retain(|start| now.duration_since(*start) < MEASURED_AFTER);
        let expected = EXPECTED_BYTES.saturating_mul(self.recent.len() as u64);
        let has_room = || free_bytes().is_none_or(|free| free >= START_BYTES.saturating_add(expected));
        let enters = in_any_case || self.running == 0 || has_room();
        if enters {
            self.running += 1;
            self.recent.push(now);
        }
        enters
    }
}

/// Has a process killed before this one when the memory of a control group is exhausted.
pub(super) fn offer_first(process: Pid) {
    if limited_groups().is_empty() {
        return;
    }
    // A system without this has another way to choose.
    let _ = fs::write(format!("/proc/{}/oom_score_adj", process.as_raw_nonzero()), KILLED_FIRST);
}

/// Returns the memory free in the narrowest of the control groups; `None`: none limits it.
fn free_bytes() -> Option<u64> {
    limited_groups().iter().filter_map(|(group, files)| files.free(group)).min()
}

/// Returns the control groups of this process that limit its memory, as they were at the first start.
fn limited_groups() -> &'static [(PathBuf, GroupFiles)] {
    static GROUPS: OnceLock<Vec<(PathBuf, GroupFiles)>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let memberships = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let older = GroupFiles { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes" };
        let newer = GroupFiles { limit: "memory.max", used: "memory.current" };
        let kinds = [("memory", "/sys/fs/cgroup/memory", older), ("", "/sys/fs/cgroup", newer)];
        let by_controller = kinds.into_iter().flat_map(|(controller, mount, files)| {
            let own = membership(&memberships, controller).map(|own| own.trim_start_matches('/').to_owned());
            // In a container, the path may be that outside of it: then only the top can be seen.
            let groups = own.iter().flat_map(|own| Path::new(own).ancestors());
            let groups: Vec<PathBuf> = groups.map(|group| Path::new(mount).join(group)).collect();
            groups.into_iter().map(move |group| (group, files))
        });
        by_controller.filter(|(group, files)| files.free(group).is_some()).collect()
    })
}

/// The files of a control group that tell of its memory.
#[derive(Clone, Copy, Debug)]
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
}

impl GroupFiles {
    /// Returns the limit of a group; `None`: it has none.
    fn limit(self, group: &Path) -> Option<u64> {
        // "No limit" is a number near the largest in version 1.
        number_in(&group.join(self.limit)).filter(|limit| *limit < 1 << 60)
    }

    fn is_narrow(self, group: &Path) -> bool {
        self.limit(group).is_some_and(|limit| limit <= NARROW_BYTES)
    }

    fn free(self, group: &Path) -> Option<u64> {
        let limit = self.limit(group)?;
        let used = number_in(&group.join(self.used))?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        Some(limit.saturating_sub(used.saturating_sub(file_cache(&stat))))
    }
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the memory the system takes back when it is needed: its caches of files and of their names.
fn file_cache(stat: &str) -> u64 {
    let value = |key: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == key).and_then(|(_, value)| value.parse::<u64>().ok())
    };
    let of = |all: &str, own: &str| value(all).or_else(|| value(own)).unwrap_or(0);
    let files =
        of("total_inactive_file", "inactive_file").saturating_add(of("total_active_file", "active_file"));
    files.saturating_add(value("slab_reclaimable").unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{GroupFiles, file_cache};

    #[test]
    fn what_is_free_is_the_limit_without_what_is_used_for_good() {
        let dir = tempfile::tempdir().unwrap();
        let files = GroupFiles { limit: "memory.max", used: "memory.current" };
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        assert_eq!(files.free(dir.path()), None);
        put("memory.max", "max\n");
        put("memory.current", "700\n");
        assert_eq!(files.free(dir.path()), None);
        put("memory.max", "1000\n");
        put("memory.stat", "anon 550\ninactive_file 60\nactive_file 40\nslab_reclaimable 50\n");
        assert_eq!(files.free(dir.path()), Some(450));
        assert!(files.is_narrow(dir.path()));
        put("memory.max", "4294967296\n");
        assert!(!files.is_narrow(dir.path()), "no start waits there");
        put("memory.max", "9223372036854771712\n");
        assert_eq!(files.free(dir.path()), None);
    }

    #[test]
    fn the_cache_of_files_is_that_of_all_groups_below() {
        assert_eq!(
            file_cache("inactive_file 1\nactive_file 2\ntotal_inactive_file 30\ntotal_active_file 5\n"),
            35
        );
        assert_eq!(file_cache("anon 5\n"), 0);
    }
}
