use std::fs;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// This process.
static ME: OnceLock<Process> = OnceLock::new();

/// A process, told apart from others that had or will have its number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id, in its namespace.
    pub pid: u32,
    /// When it started, in ticks since the boot; zero where that cannot be known.
    pub start: i64,
    /// The boot of its machine; empty where that cannot be known.
    pub boot: String,
    /// The namespace of its id; zero where that cannot be known.
    pub ns: i64,
}

/// What can be seen of a process from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The machine was started anew since.
    OtherBoot,
    /// Its number means nothing here.
    Elsewhere,
    /// It lives, or something that cannot be told from it.
    Lives,
    /// It ended.
    Gone,
}

impl Process {
    /// The process that asks. Nothing of that changes while it lives, so the system is asked once.
    pub fn current() -> Self {
        ME.get_or_init(Self::look_at_me).clone()
    }

    fn look_at_me() -> Self {
        let pid = std::process::id();
        let start = match look(pid) {
            Look::Started(start) => start,
            Look::Nothing | Look::Zombie => 0,
        };
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            pid,
            start,
            boot: id.trim().into(),
            ns: namespace(),
        }
    }

    /// Looks for it.
    pub fn seen(&self) -> Seen {
        let me = Self::current();
        if self.boot != me.boot {
            return Seen::OtherBoot;
        }
        if self.ns != me.ns {
            return Seen::Elsewhere;
        }
        let lives = match look(self.pid) {
            Look::Started(start) => start == self.start || self.start == 0,
            Look::Zombie => false,
            // Other users' processes can be hidden from `/proc`, but not from signals.
            Look::Nothing => answers(self.pid),
        };
        if lives { Seen::Lives } else { Seen::Gone }
    }
}

/// What `/proc` says of a number.
enum Look {
    Nothing,
    Zombie,
    Started(i64),
}

fn look(pid: u32) -> Look {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return Look::Nothing;
    };
    // The second field is the program's name in parentheses, and may contain anything.
    let mut fields = match stat.rsplit_once(')') {
        Some((_, after)) => after.split_whitespace(),
        None => return Look::Nothing,
    };
    if matches!(fields.next(), Some("Z" | "X")) {
        return Look::Zombie;
    }
    let start = fields.nth(18).and_then(|ticks| ticks.parse().ok());
    start.map_or(Look::Nothing, Look::Started)
}

/// The boot of this machine; empty where that cannot be known.
pub(super) fn boot() -> String {
    Process::current().boot
}

/// The namespace that process ids are numbered in.
fn namespace() -> i64 {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata("/proc/self/ns/pid");
    found.map_or(0, |file| file.ino().cast_signed())
}

/// Whether some process has the number: all that can be known without `/proc`.
fn answers(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| {
            let asked = rustix::process::test_kill_process(pid);
            asked.is_ok() || asked == Err(rustix::io::Errno::PERM)
        })
}

/// Milliseconds on the clock that runs since the boot, while the machine sleeps too. Nobody sets
/// it.
pub(super) fn since_boot() -> i64 {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1000)
        .saturating_add(time.tv_nsec / 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::{Process, Seen};

    #[test]
    fn only_the_very_same_process_is_alive() {
        let me = Process::current();
        let other = |pid, start, boot: &str, ns| Process {
            pid,
            start,
            boot: boot.into(),
            ns,
        };
        assert_eq!(me.seen(), Seen::Lives);
        let gone = other(u32::MAX - 1, me.start, &me.boot, me.ns);
        assert_eq!(gone.seen(), Seen::Gone);
        if cfg!(target_os = "linux") {
            let before = other(me.pid, me.start - 1, &me.boot, me.ns);
            assert_eq!(before.seen(), Seen::Gone);
            let past = other(me.pid, me.start, "another boot", me.ns);
            assert_eq!(past.seen(), Seen::OtherBoot);
            let apart = other(me.pid, me.start, &me.boot, me.ns + 1);
            assert_eq!(apart.seen(), Seen::Elsewhere);
        }
    }
}
