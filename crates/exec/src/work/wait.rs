//! Waits for a file.

use std::{path::Path, time::Duration};

use tokio::{sync::watch, time::Instant};

use wf_core::machine::WorkExit;

use crate::{
    processes::supervise::{next_stop, wait_until},
    work_error::StopLevel,
};

/// The initial and the maximum polling interval.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Waits until a path exists, the work is told to stop, or the timeout expires.
pub async fn file(path: &Path, timeout: Option<Duration>, mut stop: watch::Receiver<StopLevel>) -> WorkExit {
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let [mut pause, longest] = POLL_INTERVALS;
    while *stop.borrow_and_update() == StopLevel::No {
        if path.exists() {
            return WorkExit::Completed;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = longest.min(pause * 2),
            () = wait_until(until) => return WorkExit::TimedOut,
            _ = next_stop(&mut stop) => {}
        }
    }
    WorkExit::Cancelled
}

#[cfg(test)]
mod tests {
    use super::file;
    use crate::work_error::StopLevel;
    use std::time::Duration;
    use tokio::sync::watch;
    use wf_core::machine::WorkExit;

    #[tokio::test]
    async fn ends_with_the_file_the_time_or_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flag");
        let (tell, stop) = watch::channel(StopLevel::No);
        let limit = Some(Duration::from_millis(50));
        assert_eq!(file(&path, limit, stop.clone()).await, WorkExit::TimedOut);
        let (exit, ()) = tokio::join!(file(&path, None, stop.clone()), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            std::fs::write(&path, "").unwrap();
        });
        assert_eq!(exit, WorkExit::Completed);
        std::fs::remove_file(&path).unwrap();
        let (exit, ()) = tokio::join!(file(&path, None, stop.clone()), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            tell.send_replace(StopLevel::Gently);
        });
        assert_eq!(exit, WorkExit::Cancelled);
    }
}
