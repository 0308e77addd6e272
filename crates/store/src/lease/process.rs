use std::{fs, sync::OnceLock};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// This process.
static ME: OnceLock<ProcessIdentity> = OnceLock::new();

/// A process, distinguished from earlier and later ones with the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Its id, in its namespace.
    pub pid: u32,
    /// The start, in ticks since the boot; zero if unknown.
    pub start: i64,
    /// The boot of its machine; empty if unknown.
    pub boot: String,
    /// The namespace of its id; zero if unknown.
    pub ns: i64,
}

/// The state of a process as seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessLiveness {
    /// The machine was rebooted since.
    OtherBoot,
    /// Its id is from another namespace, and means nothing here.
    OtherNamespace,
    /// It is alive, or something indistinguishable from it.
    Alive,
    Exited,
}

impl ProcessIdentity {
    /// Returns the current process. Its properties never change, so the system is asked once.
    pub fn current() -> Self {
        ME.get_or_init(Self::current_process).clone()
    }

    fn current_process() -> Self {
        let pid = std::process::id();
        let start = match proc_status(pid) {
            ProcStatus::Started(start) => start,
            ProcStatus::Nothing | ProcStatus::Zombie => 0,
        };
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self { pid, start, boot: id.trim().into(), ns: namespace() }
    }

    /// Looks up the process.
    pub fn liveness(&self) -> ProcessLiveness {
        let me = Self::current();
        if self.boot != me.boot {
            return ProcessLiveness::OtherBoot;
        }
        if self.ns != me.ns {
            return ProcessLiveness::OtherNamespace;
        }
        let lives = match proc_status(self.pid) {
            ProcStatus::Started(start) => start == self.start || self.start == 0,
            ProcStatus::Zombie => false,
            // Other users' processes can be hidden from `/proc`, but not from signals.
            ProcStatus::Nothing => process_exists(self.pid),
        };
        if lives { ProcessLiveness::Alive } else { ProcessLiveness::Exited }
    }
}

/// The answer of `/proc` for a process id.
enum ProcStatus {
    Nothing,
    Zombie,
    Started(i64),
}

fn proc_status(pid: u32) -> ProcStatus {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return ProcStatus::Nothing;
    };
    // The second field is the program's name in parentheses, and may contain anything.
    let mut fields = match stat.rsplit_once(')') {
        Some((_, after)) => after.split_whitespace(),
        None => return ProcStatus::Nothing,
    };
    if matches!(fields.next(), Some("Z" | "X")) {
        return ProcStatus::Zombie;
    }
    let start = fields.nth(18).and_then(|ticks| ticks.parse().ok());
    start.map_or(ProcStatus::Nothing, ProcStatus::Started)
}

/// Returns the boot of this machine; empty if unknown.
pub(crate) fn boot() -> String {
    ProcessIdentity::current().boot
}

/// Returns the namespace of process ids.
fn namespace() -> i64 {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata("/proc/self/ns/pid");
    found.map_or(0, |file| file.ino().cast_signed())
}

/// True if some process has the id: all that can be known without `/proc`.
fn process_exists(pid: u32) -> bool {
    i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw).is_some_and(|pid| {
        let asked = rustix::process::test_kill_process(pid);
        asked.is_ok() || asked == Err(rustix::io::Errno::PERM)
    })
}

/// Returns the milliseconds since the boot, including sleep; this clock cannot be set.
pub(crate) fn since_boot() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::{ProcessIdentity, ProcessLiveness};

    #[test]
    fn only_the_very_same_process_is_alive() {
        let me = ProcessIdentity::current();
        let other = |pid, start, boot: &str, ns| ProcessIdentity { pid, start, boot: boot.into(), ns };
        assert_eq!(me.liveness(), ProcessLiveness::Alive);
        let gone = other(u32::MAX - 1, me.start, &me.boot, me.ns);
        assert_eq!(gone.liveness(), ProcessLiveness::Exited);
        if cfg!(target_os = "linux") {
            let before = other(me.pid, me.start - 1, &me.boot, me.ns);
            assert_eq!(before.liveness(), ProcessLiveness::Exited);
            let past = other(me.pid, me.start, "another boot", me.ns);
            assert_eq!(past.liveness(), ProcessLiveness::OtherBoot);
            let apart = other(me.pid, me.start, &me.boot, me.ns + 1);
            assert_eq!(apart.liveness(), ProcessLiveness::OtherNamespace);
        }
    }
}
