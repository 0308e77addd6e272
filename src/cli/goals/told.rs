use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Exit, Failure};

/// Whether this process was told to end. A run that goes on hears that itself; this is for what lies
/// between two runs, where nobody else would: once a process has listened, no signal ends it.
#[derive(Clone, Debug)]
pub struct Told(Arc<AtomicBool>);

impl Told {
    /// Listens from now on, as long as the process lives.
    pub fn listen() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::State, format!("cannot listen to signals: {error}"))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let entered = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        drop(entered);
        let told = Self(Arc::new(AtomicBool::new(false)));
        let tells = told.clone();
        let listens = std::thread::Builder::new().name("signals".into());
        let started = listens.spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            tells.0.store(true, Ordering::Relaxed);
        });
        started.map(|_| told).map_err(failed)
    }

    /// Whether it was told to end.
    pub fn was_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
