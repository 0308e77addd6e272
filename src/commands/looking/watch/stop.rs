//! The signals on which a command leaves the screen.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    runtime::{EnterGuard, Handle},
    signal::unix::{SignalKind, signal},
};
use wf_app::CliExitCode;

/// The longest time between a signal and the end.
const GRACE: Duration = Duration::from_secs(5);

/// A flag that a signal raises. The signal itself ends nothing any more, so that the terminal can be restored.
#[derive(Debug)]
pub struct StopFlag {
    flag: Arc<AtomicBool>,
    handle: Handle,
}

impl StopFlag {
    /// Listens for the signals that ask a program to end.
    pub fn listen() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let entered = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [mut interrupt, mut terminate, mut hangup] = {
            let [one, two, three] = kinds.map(signal);
            [one?, two?, three?]
        };
        drop(entered);
        let (flag, handle) = (Arc::<AtomicBool>::default(), runtime.handle().clone());
        let raised = Arc::clone(&flag);
        #[expect(
            clippy::disallowed_methods,
            reason = "it only waits for a signal, ends with the program, and ends it where nothing else can"
        )]
        std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            raised.store(true, Ordering::Relaxed);
            // The reader of a terminal that is gone never returns.
            std::thread::sleep(GRACE);
            std::process::exit(i32::from(CliExitCode::Interrupted.code()));
        });
        Ok(Self { flag, handle })
    }

    /// Enters the runtime that listens: what starts a process in the background needs one.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    pub fn is_raised(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }
}
