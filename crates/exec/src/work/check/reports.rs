//! The test reports of a check: each check has a folder for them, and their tests are counted.

use std::{
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::fs::{Mode, OFlags};

use wf_base::redact::SecretMask;
use wf_core::test_report::{MAX_REPORT_BYTES, TestCounts, TestReportError, read_test_report};

use crate::work_error::WorkError;

/// The variable naming the folder for the report of a check.
pub const REPORTS_VARIABLE: &str = "WF_REPORTS";

/// The number of folders this process has named.
static FOLDERS: AtomicU64 = AtomicU64::new(0);

/// The reason why the test report of a check counts nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum UncountedReport {
    #[error("there is no report `{0}` in ${REPORTS_VARIABLE}")]
    Missing(String),
    #[error("cannot read `{name}`: {cause}")]
    Unreadable { name: String, cause: std::io::Error },
    #[error("the report `{name}` is larger than {} MiB", MAX_REPORT_BYTES >> 20)]
    TooLarge { name: String },
    #[error("the report on standard output is larger than 1 MiB")]
    LongOutput,
    #[error(
        "the report is empty: nothing is on standard output; of a runner that writes to standard error, redirect that: \
         `2>&1`"
    )]
    NoOutput,
    #[error(transparent)]
    Invalid(#[from] TestReportError),
}

/// A folder that one run of a check writes its test report into. It is empty before, so nobody but the check's own
/// processes can have written what is read, and removed after.
#[derive(Debug)]
pub(super) struct ReportFolder(PathBuf);

impl ReportFolder {
    /// Names a folder below this one no other run of a check has.
    pub(super) fn below(above: &Path) -> Self {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        Self(above.join(format!("{}-{number}", std::process::id())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Creates it, empty.
    pub(super) fn create(&self) -> Result<(), WorkError> {
        let unable = |error: std::io::Error| {
            WorkError::environmental(format!("cannot create the folder for the test report: {error}"))
        };
        if fs::symlink_metadata(&self.0).is_ok() {
            // A process with this number left it behind.
            fs::remove_dir_all(&self.0).map_err(unable)?;
        }
        fs::create_dir_all(&self.0).map_err(unable)
    }

    /// Reads a report in it, through no link.
    pub(super) fn counts(&self, name: &str, mask: &SecretMask) -> Result<TestCounts, UncountedReport> {
        let missing = || UncountedReport::Missing(name.to_owned());
        let mut at = File::open(&self.0).map_err(|_| missing())?;
        let mut parts = Path::new(name).components().peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::NONBLOCK };
            let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | kind;
            let file = rustix::fs::openat(&at, part.as_os_str(), flags, Mode::empty());
            at = File::from(file.map_err(|_| missing())?);
        }
        if !at.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(missing());
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(MAX_REPORT_BYTES).unwrap_or(u64::MAX);
        at.take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|cause| UncountedReport::Unreadable { name: name.to_owned(), cause })?;
        if bytes.len() > MAX_REPORT_BYTES {
            return Err(UncountedReport::TooLarge { name: name.to_owned() });
        }
        Ok(counts_of(&bytes, mask)?)
    }
}

impl Drop for ReportFolder {
    fn drop(&mut self) {
        // What is left is removed with the state.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads a report without its secrets: names of tests are recorded.
pub(super) fn counts_of(bytes: &[u8], mask: &SecretMask) -> Result<TestCounts, TestReportError> {
    let mut stream = mask.stream();
    let mut shown = stream.feed(bytes).into_owned();
    shown.extend(stream.finish());
    read_test_report(&shown)
}
