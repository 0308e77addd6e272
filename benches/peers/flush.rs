//! How often programs ask the disk to keep what was written, counted by perf, which costs them next to
//! nothing, or by strace, which stops them for a while at each such call and whenever they start a process.

use std::{fs, path::Path};

use super::{
    load::flushed,
    measure::measured,
    program::{Program, said},
    report::Flushes,
    rounds::Place,
};

const CALLS: &[&str] = &["fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"];

/// Who counts.
#[derive(Clone, Copy)]
enum Counter {
    Perf,
    Strace,
}

impl Counter {
    /// What may be used here: perf, where the system lets us see its calls.
    fn found(dir: &Path) -> Option<Self> {
        fs::create_dir_all(dir).ok()?;
        let mut tried = Self::Perf.argv(&dir.join("flushes"));
        tried.extend(["echo".into(), "it counts".into()]);
        let words: Vec<&str> = tried.iter().map(String::as_str).collect();
        if said(&words).is_some() {
            return Some(Self::Perf);
        }
        said(&["strace", "--version"]).map(|_| Self::Strace)
    }

    /// The words before a command.
    fn argv(self, file: &Path) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let mut argv: Vec<String> = match self {
            Self::Perf => words(&["perf", "stat", "-x", " "]),
            // Without stops at all other calls.
            Self::Strace => words(&["strace", "-f", "--seccomp-bpf", "-c", "-qq"]),
        };
        match self {
            Self::Perf => {
                let events = CALLS.iter();
                let events = events.flat_map(|call| ["-e".into(), format!("syscalls:sys_enter_{call}")]);
                argv.extend(events);
            }
            Self::Strace => argv.extend(["-e".into(), format!("trace={}", CALLS.join(","))]),
        }
        argv.extend(["-o".into(), file.to_string_lossy().into_owned()]);
        argv
    }

    /// Adds up the calls of a summary. A line of perf is: count, unit, event and more; one of strace:
    /// share, seconds, time a call, calls, failures if there are any, name.
    fn calls(self, summary: &str) -> usize {
        let count = |line: &str| {
            let mut fields = line.split_whitespace();
            let known = fields.clone().any(|field| {
                let name = field.trim_start_matches("syscalls:sys_enter_");
                CALLS.contains(&name)
            });
            let at = match self {
                Self::Perf => 0,
                Self::Strace => 3,
            };
            fields.nth(at).filter(|_| known)?.parse::<usize>().ok()
        };
        summary.lines().filter_map(count).sum()
    }
}

/// The flushes per step of all programs; none where nobody can count them.
pub fn counted(programs: &[Program], dir: &Path) -> Vec<Flushes> {
    let Some(counter) = Counter::found(dir) else {
        return Vec::new();
    };
    programs.iter().filter_map(|program| of(program, counter, dir)).collect()
}

/// The flushes of one program: those of many steps beyond those of a single one, per step.
#[expect(clippy::cast_precision_loss, reason = "there are not that many steps")]
fn of(program: &Program, counter: Counter, dir: &Path) -> Option<Flushes> {
    let mut counts = Vec::new();
    let mut single = 0;
    for load in flushed() {
        let Ok(place) = Place::new(program, &load, dir) else {
            continue;
        };
        let file = dir.join("flushes");
        let mut argv = counter.argv(&file);
        argv.extend_from_slice(place.argv());
        let figures = measured(&argv, place.dir());
        if figures.error.is_some() {
            continue;
        }
        let count = counter.calls(&fs::read_to_string(&file).unwrap_or_default());
        match load.needs.len() {
            1 => single = count,
            steps => {
                let more = count.saturating_sub(single) as f64 / (steps - 1) as f64;
                counts.push((load.name.to_owned(), more));
            }
        }
    }
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir).expect("a folder can be made again");
    let program = program.name.to_owned();
    (!counts.is_empty()).then_some(Flushes { program, counts })
}
