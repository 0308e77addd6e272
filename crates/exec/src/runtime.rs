//! The runtime of an engine and of a supervisor: one thread waiting for everything, and a few for work that blocks.
//!
//! A thread takes memory even while it waits: its stack, and what the allocator sets apart for it. By default, work that
//! blocks gets a thread each, and fifty steps that end at once took fifty. Where memory is limited, the process was
//! aborted then. So there are few, which exist as long as the process: such work waits for one of them.

use std::{
    fs, io,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Resource, getrlimit};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinSet,
};

/// The least and the most threads for work that blocks: between, as many as there are processors.
const BLOCKING_THREADS: std::ops::RangeInclusive<usize> = 4..=32;

/// The address space that must be left to begin.
const LEAST_ADDRESS_SPACE: u64 = 32 << 20;

/// The time for which an idle thread is kept: without end.
const THREAD_LIFE: Duration = Duration::from_hours(365 * 24);

/// Builds the runtime. Fails if the system permits no further thread.
pub fn waiting_runtime() -> io::Result<Runtime> {
    check_address_space()?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(processors.clamp(*BLOCKING_THREADS.start(), *BLOCKING_THREADS.end()))
        .thread_keep_alive(THREAD_LIFE)
        .build()?;
    // Work that blocks is queued if there is a thread, and a panic if there is none and none can be started.
    let probe = std::thread::Builder::new().spawn(|| ())?;
    let _ = probe.join();
    runtime.block_on(async {
        let _ = tokio::task::spawn_blocking(|| ()).await;
    });
    Ok(runtime)
}

/// Fails if too little address space is left to this process: it would be aborted in the middle of something.
pub fn check_address_space() -> io::Result<()> {
    let Some(limit) = getrlimit(Resource::As).current else { return Ok(()) };
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    let used = pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64);
    if limit.saturating_sub(used) >= LEAST_ADDRESS_SPACE {
        return Ok(());
    }
    let needed = (used + LEAST_ADDRESS_SPACE) >> 10;
    Err(io::Error::other(format!(
        "the address space is limited to {} KiB (`ulimit -v`), and at least {needed} are needed; raise the limit",
        limit >> 10
    )))
}

/// Locks a mutex whose value is valid even if a holder panicked.
pub(crate) fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the work as a tokio task aborted when this future is dropped. Waking the outermost future of a runtime costs
/// two system calls, waking a task none.
pub async fn spawn_task<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let mut tasks = JoinSet::new();
    tasks.spawn(work);
    match tasks.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Nothing else can abort it.
        _ => std::future::pending().await,
    }
}
