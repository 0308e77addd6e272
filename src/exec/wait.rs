//! Waiting for a file.

use std::path::Path;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Stop;
use super::supervise::{told, wait_until};
use crate::machine::Exit;

/// How soon a file is looked for again, at first and at most.
const LOOKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Waits until a path exists, the work is told to end, or the time is up.
pub async fn file(path: &Path, timeout: Option<Duration>, mut stop: watch::Receiver<Stop>) -> Exit {
    let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let [mut pause, longest] = LOOKS;
    while *stop.borrow_and_update() == Stop::No {
        if path.exists() {
            return Exit::Done;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = longest.min(pause * 2),
            () = wait_until(until) => return Exit::TimedOut,
            _ = told(&mut stop) => {}
        }
    }
    Exit::Cancelled
}

#[cfg(test)]
mod tests {
    use super::file;
    use crate::exec::Stop;
    use crate::machine::Exit;
    use std::time::Duration;
    use tokio::sync::watch;

    #[tokio::test]
    async fn ends_with_the_file_the_time_or_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flag");
        let (tell, stop) = watch::channel(Stop::No);
        let limit = Some(Duration::from_millis(50));
        assert_eq!(file(&path, limit, stop.clone()).await, Exit::TimedOut);
        let (exit, ()) = tokio::join!(file(&path, None, stop.clone()), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            std::fs::write(&path, "").unwrap();
        });
        assert_eq!(exit, Exit::Done);
        std::fs::remove_file(&path).unwrap();
        let (exit, ()) = tokio::join!(file(&path, None, stop.clone()), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            tell.send_replace(Stop::Gently);
        });
        assert_eq!(exit, Exit::Cancelled);
    }
}
