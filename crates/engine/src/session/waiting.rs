use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use wf_exec::StopLevel;

use super::engine_session::EngineError;

/// Works on a run and passes interrupts on: the first asks it to end, the next ones insist.
pub(crate) async fn heeding<T>(
    stop: watch::Sender<StopLevel>,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| EngineError::System { doing: "listen to signals", cause: error.to_string() })
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            finished = &mut work => return finished,
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        stop.send_modify(|degree| {
            *degree = if *degree == StopLevel::No { StopLevel::Gently } else { StopLevel::AtOnce };
        });
    }
}
