//! The processor time of processes, as `/proc` counts it: of those that live, with the children they waited for.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The length of a tick of `/proc`, which Linux gives in hundredths of a second on every machine.
const TICK: Duration = Duration::from_millis(10);

/// The processor time of processes, and of their children they waited for.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    pub own: Duration,
    pub children: Duration,
}

impl Spent {
    /// Returns the time of all processes that work in a folder or below it, or have it in their arguments.
    pub fn in_folder(folder: &Path) -> Self {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let word = format!("{}/", folder.display());
        let belongs = |process: &PathBuf| {
            std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
                || std::fs::read_to_string(process.join("cmdline")).is_ok_and(|words| words.contains(&word))
        };
        processes.filter(belongs).fold(Self::default(), |sum, process| {
            let of = Self::of(&process);
            Self { own: sum.own + of.own, children: sum.children + of.children }
        })
    }

    /// Returns the time of this process.
    pub fn here() -> Self {
        Self::of(Path::new("/proc/self"))
    }

    fn of(process: &Path) -> Self {
        // It may have ended meanwhile.
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        // Behind the name of the program, of which nobody knows what it contains.
        let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |field: usize| words.get(field).map_or(0, |word| word.parse::<u32>().unwrap());
        Self { own: TICK * (ticks(11) + ticks(12)), children: TICK * (ticks(13) + ticks(14)) }
    }
}
