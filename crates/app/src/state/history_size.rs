//! The size of the history on the disk, and what the limits on it would free.

use std::path::Path;

use walkdir::WalkDir;

use super::doctor::{DoctorFinding, DoctorStatus, configured_retention};
use crate::{Host, config::DEFAULT_ARTIFACT_BYTES};
use wf_base::units::{plural, size};
use wf_store::{PRUNED_AT_ONCE, RunRetention, StateFolder, StoreError, StoreReader};

/// The part of the history freed by the next runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FreeableHistory {
    /// The number of runs beyond the limits.
    runs: usize,
    /// The size of their folders, in bytes.
    logs: u64,
    /// The number of runs of which the stored files alone are beyond the limits.
    shortened: usize,
    /// The size of these files, in bytes.
    artifacts: u64,
}

/// Reports what the history takes on the disk, and what the limits on it would free.
pub fn history_finding(host: &Host, dir: &Path) -> Option<DoctorFinding> {
    let parts = [
        ("stored files", "blobs"),
        ("logs", "runs"),
        ("audit log", "audit"),
        ("copies from before upgrades", "upgrades"),
    ];
    let parts = parts.map(|(part, name)| (part, size_of(&dir.join(name))));
    let shown = parts.iter().filter(|(_, bytes)| *bytes > 0);
    let shown: String = shown.map(|(part, bytes)| format!("{part} {} · ", size(*bytes))).collect();
    let reader = StoreReader::open(dir).ok()?;
    let keep = configured_retention(host);
    let mut description = match keep {
        None => "kept for ever: wf.yaml sets `retention: {}`".into(),
        Some(keep) => limits_text(FreeableHistory::read(host, &reader, keep).ok()?),
    };
    let [(_, stored), ..] = parts;
    let is_unlimited = keep.is_none_or(|keep| keep.max_artifact_bytes.is_none());
    let mut health = DoctorStatus::Good;
    if is_unlimited && stored > DEFAULT_ARTIFACT_BYTES {
        let limited =
            RunRetention { max_artifact_bytes: Some(DEFAULT_ARTIFACT_BYTES), ..keep.unwrap_or_default() };
        let FreeableHistory { artifacts, shortened, .. } =
            FreeableHistory::read(host, &reader, limited).ok()?;
        description = format!("{description} · {}", unlimited_text(artifacts, shortened));
        health = DoctorStatus::Weak;
    }
    let database = size(reader.size().ok()?);
    Some(DoctorFinding::new("history", health, format!("database {database} · {shown}{description}")))
}

impl FreeableHistory {
    fn read(host: &Host, reader: &StoreReader, retention: RunRetention) -> Result<Self, StoreError> {
        let now = host.now();
        let keep = retention.counted_to(reader.runs().last_end(0)?, now);
        let folder = StateFolder::new(&host.workspace().state);
        let runs = reader.runs().exceeding(keep, now)?;
        let logs = runs.iter().map(|run| size_of(&folder.run(run))).sum();
        let (shortened, artifacts) = reader.artifacts().exceeding(keep, now)?;
        Ok(Self { runs: runs.len(), logs, shortened, artifacts })
    }
}

/// Says what is beyond the limits.
fn limits_text(freeable: FreeableHistory) -> String {
    let FreeableHistory { runs, logs, shortened, artifacts } = freeable;
    let whole = (runs > 0).then(|| format!("{} with {} of logs", plural(runs, "run"), size(logs)));
    let files = (shortened > 0)
        .then(|| format!("{} of stored files of {}", size(artifacts), plural(shortened, "run")));
    let beyond: Vec<String> = whole.into_iter().chain(files).collect();
    if beyond.is_empty() {
        return "nothing is beyond `retention`".into();
    }
    let by = match runs.div_ceil(PRUNED_AT_ONCE) {
        0 | 1 => "the next run frees them".to_owned(),
        times => format!("the next {times} runs free them"),
    };
    let age = if shortened > 0 { ", stored files once they are an hour old" } else { "" };
    format!("{} beyond `retention`: {by}{age}", beyond.join(", and "))
}

/// Says that nothing limits the stored files.
fn unlimited_text(artifacts: u64, runs: usize) -> String {
    format!(
        "nothing limits the stored files: `max_artifact_bytes: 10GiB` below `retention` in wf.yaml would free {} of {}, and \
         keep the runs",
        size(artifacts),
        plural(runs, "run")
    )
}

/// Returns the size of the files below a folder, in bytes.
fn size_of(folder: &Path) -> u64 {
    let files = WalkDir::new(folder).into_iter().flatten().filter_map(|entry| entry.metadata().ok());
    files.filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::{FreeableHistory, limits_text};

    #[test]
    fn what_is_beyond_the_limits_is_said_with_its_size() {
        let none = FreeableHistory::default();
        for (freeable, text) in [
            (none, "nothing is beyond `retention`"),
            (
                FreeableHistory { runs: 2, logs: 2048, ..none },
                "2 runs with 2.0 KiB of logs beyond `retention`: the next run frees them",
            ),
            (
                FreeableHistory { runs: 401, logs: 0, ..none },
                "401 runs with 0 B of logs beyond `retention`: the next 3 runs free them",
            ),
            (
                FreeableHistory { shortened: 1, artifacts: 5 << 20, ..none },
                "5.0 MiB of stored files of 1 run beyond `retention`: the next run frees them, stored files once they are an hour old",
            ),
            (
                FreeableHistory { runs: 1, logs: 1024, shortened: 1, artifacts: 1024 },
                "1 run with 1.0 KiB of logs, and 1.0 KiB of stored files of 1 run beyond `retention`: the next run frees \
                 them, stored files once they are an hour old",
            ),
        ] {
            assert_eq!(limits_text(freeable), text);
        }
    }
}
