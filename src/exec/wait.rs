//! Waiting for a file.

use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;

use super::Stop;
use crate::machine::Exit;

/// Waits until a path exists, the work is told to end, or the time is up.
pub async fn file(_path: &Path, _timeout: Option<Duration>, _stop: watch::Receiver<Stop>) -> Exit {
    todo!()
}
