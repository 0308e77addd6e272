use tokio::task::JoinSet;

/// Works as a task of its own, which ends when this is dropped. What wakes the outermost future of a
/// runtime costs two calls of the system, and what wakes a task none.
pub async fn alone<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let mut tasks = JoinSet::new();
    tasks.spawn(work);
    match tasks.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // Nobody else can end it.
        _ => std::future::pending().await,
    }
}
