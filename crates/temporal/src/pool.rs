//! Futures that are under way in a workflow, polled in the order of their numbers, so that a replay sees the same order.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A set of futures, which ends when one of them does.
pub struct Pool<T>(BTreeMap<u64, Pin<Box<dyn Future<Output = T>>>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Pool<T> {
    /// Adds a future under a number that no other one has.
    pub fn insert(&mut self, number: u64, future: impl Future<Output = T> + 'static) {
        self.0.insert(number, Box::pin(future));
    }

    /// Waits for the end of one, and removes it; waits for ever if there is none.
    pub fn next(&mut self) -> impl Future<Output = T> + '_ {
        Next(self)
    }
}

struct Next<'a, T>(&'a mut Pool<T>);

impl<T> Future for Next<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let pool = &mut self.0.0;
        let ended = pool.iter_mut().find_map(|(number, future)| match future.as_mut().poll(context) {
            Poll::Ready(value) => Some((*number, value)),
            Poll::Pending => None,
        });
        match ended {
            Some((number, value)) => {
                pool.remove(&number);
                Poll::Ready(value)
            }
            None => Poll::Pending,
        }
    }
}
