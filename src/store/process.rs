use std::fs;

/// A process, told apart from others that had or will have its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started, in ticks since the boot; zero where that cannot be known.
    pub start: i64,
    /// The boot of its machine; empty where that cannot be known.
    pub boot: String,
}

impl Process {
    /// The process that asks.
    pub(super) fn current() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start: started(pid).unwrap_or(0),
            boot: boot(),
        }
    }

    /// Whether it still lives.
    pub(super) fn is_alive(&self) -> bool {
        if cfg!(target_os = "linux") {
            self.boot == boot() && started(self.pid) == Some(self.start)
        } else {
            answers(self.pid)
        }
    }
}

/// When a living process started. `None`: there is no such process, or it is a zombie.
fn started(pid: u32) -> Option<i64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, and may contain anything.
    let (_, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().into()
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

#[cfg(test)]
mod tests {
    use super::Process;

    #[test]
    fn only_the_very_same_process_is_alive() {
        let me = Process::current();
        let other = |pid, start, boot: &str| Process {
            pid,
            start,
            boot: boot.into(),
        };
        assert!(me.is_alive());
        assert!(!other(u32::MAX - 1, me.start, &me.boot).is_alive());
        if cfg!(target_os = "linux") {
            assert!(!other(me.pid, me.start - 1, &me.boot).is_alive());
            assert!(!other(me.pid, me.start, "another boot").is_alive());
        }
    }
}
