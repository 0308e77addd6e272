use tokio::task::JoinSet;

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
