//! What was found: all raw figures, and what follows from them.

use std::fs;

use serde::{Deserialize, Serialize};

use super::{measure::Figures, program::said};

/// Everything that one call found.
#[derive(Serialize, Deserialize)]
pub struct Report {
    /// Where it was measured.
    pub machine: Machine,
    /// Programs and their versions.
    pub versions: Vec<(String, String)>,
    /// Programs that are not there or do not do what is asked, and why.
    pub missing: Vec<(String, String)>,
    /// What was found of each workload.
    pub outcomes: Vec<Outcome>,
    /// Flushes per step of each program, where they could be counted.
    pub flushes: Vec<Flushes>,
}

/// A machine, as the system tells it.
#[derive(Serialize, Deserialize)]
pub struct Machine {
    /// How many processors there are, and what they are called.
    pub processors: (usize, String),
    /// The version of the kernel.
    pub kernel: String,
    /// Memory in MiB.
    pub memory: u64,
    /// What the folder that programs work in lies on.
    pub disk: String,
}

/// One workload.
#[derive(Serialize, Deserialize)]
pub struct Outcome {
    /// Its name.
    pub load: String,
    /// What it is.
    pub told: String,
    /// How many steps a measurement runs.
    pub steps: usize,
    /// The program that all are compared with.
    pub base: String,
    /// What was measured.
    pub rows: Vec<Row>,
    /// Programs that cannot do it, and why.
    pub without: Vec<(String, String)>,
}

/// One program and one workload.
#[derive(Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub program: String,
    /// Each measurement, with the one of the base that came just before it.
    pub pairs: Vec<(Figures, Figures)>,
    /// Why there is no result.
    pub error: Option<String>,
}

/// How often a program asks the disk to keep what was written, per step beyond the first.
#[derive(Serialize, Deserialize)]
pub struct Flushes {
    /// Its name.
    pub program: String,
    /// For each workload, by name: the count.
    pub counts: Vec<(String, f64)>,
}

/// A median, and between what it lies.
#[derive(Clone, Copy, Default)]
pub struct Spread {
    /// The least.
    pub least: f64,
    /// The one in the middle.
    pub median: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// Of some values; of none it is nothing.
    pub fn of(values: impl Iterator<Item = f64>) -> Spread {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (values.first(), values.last()) else {
            return Spread::default();
        };
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Spread { least: *least, median: f64::midpoint(low, high), most: *most }
    }
}

impl Row {
    /// A figure of the program itself.
    pub fn own(&self, of: fn(&Figures) -> f64) -> Spread {
        Spread::of(self.pairs.iter().map(|(_, own)| of(own)))
    }

    /// How many times as much it is as the base, pair by pair.
    pub fn ratio(&self, of: fn(&Figures) -> f64) -> Spread {
        let pairs = self.pairs.iter();
        Spread::of(pairs.map(|(base, own)| of(own) / of(base).max(1e-9)))
    }
}

impl Outcome {
    /// What was measured of the base, as if it were a program like others.
    pub fn base(&self) -> Row {
        let pairs = self.rows.iter().flat_map(|row| &row.pairs);
        Row {
            program: self.base.clone(),
            pairs: pairs.map(|(base, _)| (base.clone(), base.clone())).collect(),
            error: None,
        }
    }

    /// A program that has a result.
    pub fn row(&self, program: &str) -> Option<&Row> {
        let mut rows = self.rows.iter();
        rows.find(|row| row.program == program && row.error.is_none() && !row.pairs.is_empty())
    }

    /// The fastest of those that are not ours.
    pub fn best(&self) -> Option<&Row> {
        let peers = self
            .rows
            .iter()
            .filter(|row| row.error.is_none() && !row.pairs.is_empty() && !ours(&row.program));
        peers.min_by(|one, other| {
            let wall = |row: &Row| row.own(|figures| figures.wall).median;
            wall(one).total_cmp(&wall(other))
        })
    }

    /// Seconds for each step, as millionths.
    #[expect(clippy::cast_precision_loss, reason = "there are not that many steps")]
    pub fn micros(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.steps.max(1) as f64
    }
}

/// Whether a program is `wf` or a floor.
pub fn ours(program: &str) -> bool {
    program.starts_with("wf") || program.starts_with("floor")
}

impl Report {
    /// A workload by its name.
    pub fn outcome(&self, load: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.load == load)
    }
}

impl Machine {
    /// This one.
    pub fn this(dir: &std::path::Path) -> Machine {
        let value = |file: &str, name: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let processor = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into());
        let memory = value("/proc/meminfo", "MemTotal").and_then(|text| {
            let kib: u64 = text.split_whitespace().next()?.parse().ok()?;
            Some(kib / 1024)
        });
        let dir = dir.to_string_lossy();
        let disk = said(&["findmnt", "-n", "-o", "FSTYPE", "-T", &dir]);
        Machine {
            processors: (std::thread::available_parallelism().map_or(1, Into::into), processor),
            kernel: said(&["uname", "-sr"]).unwrap_or_else(|| "unknown".into()),
            memory: memory.unwrap_or(0),
            disk: disk.unwrap_or_else(|| "unknown".into()),
        }
    }
}
