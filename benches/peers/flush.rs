//! How often programs ask the disk to keep what was written, counted by strace.

use std::fs;
use std::path::Path;

use super::load::flushed;
use super::measure::measured;
use super::program::{Program, said};
use super::report::Flushes;
use super::rounds::Place;

const CALLS: &str = "trace=fsync,fdatasync,sync_file_range,msync,sync,syncfs";

/// The flushes per step of all programs; none without strace.
pub fn counted(programs: &[Program], dir: &Path) -> Vec<Flushes> {
    if said(&["strace", "--version"]).is_none() {
        return Vec::new();
    }
    programs
        .iter()
        .filter_map(|program| of(program, dir))
        .collect()
}

/// The flushes of one program: those of many steps beyond those of a single one, per step.
#[expect(clippy::cast_precision_loss, reason = "there are not that many steps")]
fn of(program: &Program, dir: &Path) -> Option<Flushes> {
    let mut counts = Vec::new();
    let mut single = 0;
    for load in flushed() {
        let Ok(place) = Place::new(program, &load, dir) else {
            continue;
        };
        let file = dir.join("strace");
        // Without stops at all other calls, so that steps take little longer than they do.
        let strace = [
            "strace",
            "-f",
            "--seccomp-bpf",
            "-c",
            "-qq",
            "-e",
            CALLS,
            "-o",
        ];
        let mut argv = strace.map(str::to_owned).to_vec();
        argv.push(file.to_string_lossy().into_owned());
        argv.extend_from_slice(place.argv());
        let figures = measured(&argv, place.dir());
        if figures.error.is_some() {
            continue;
        }
        let count = calls(&fs::read_to_string(&file).unwrap_or_default());
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

/// Adds up the calls of a summary, whose lines are: share, seconds, time a call, calls, failures
/// if there are any, name.
fn calls(summary: &str) -> usize {
    let names = CALLS.trim_start_matches("trace=");
    let count = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let name = fields.last()?;
        let known = names.split(',').any(|call| call == *name);
        fields.get(3).filter(|_| known)?.parse::<usize>().ok()
    };
    summary.lines().filter_map(count).sum()
}
