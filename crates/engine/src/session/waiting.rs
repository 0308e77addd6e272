//! The waits of a run: on the thread working for it, for signals of the user, for the stop of a unit of work, and for a lock
//! or a permit of another task.

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{Notify, watch},
};

use wf_core::permit::ParallelLimits;
use wf_exec::{StopLevel, runtime::waiting_runtime};

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

/// Waits until an attempt is told to end.
pub(crate) async fn wait_for_stop(mut stop: watch::Receiver<StopLevel>) {
    if stop.wait_for(|stop| *stop != StopLevel::No).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Runs on one thread, which waits for everything: a chain of steps then pays for no hand-over.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, EngineError>>) -> Result<T, EngineError> {
    let runtime = waiting_runtime()
        .map_err(|error| EngineError::System { doing: "wait for processes", cause: error.to_string() })?;
    runtime.block_on(work)
}

/// The wake-ups of waits for locks. Holders in this program wake waiters at once; holders in others are polled.
#[derive(Default)]
pub(crate) struct LockWakeups {
    pub(crate) freed: Notify,
}

/// The limits of the workspace, and the wake-ups of steps waiting for a permit. Those of this program are woken at
/// once; permits that other processes give back are polled.
#[derive(Default)]
pub(crate) struct PermitWakeups {
    pub(crate) limits: ParallelLimits,
    pub(crate) freed: Notify,
}
