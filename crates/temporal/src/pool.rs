//! Futures that are under way in a workflow, polled in the order of their numbers, so that a replay sees the same order.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A set of futures, which ends when one of them does.
pub struct Pool<T> {
    futures: BTreeMap<u64, Pin<Box<dyn Future<Output = T>>>>,
    /// The results of those that ended together with one that was taken.
    ended: VecDeque<T>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { futures: BTreeMap::new(), ended: VecDeque::new() }
    }
}

impl<T> Pool<T> {
    /// Adds a future under a number that no other one has.
    pub fn insert(&mut self, number: u64, future: impl Future<Output = T> + 'static) {
        self.futures.insert(number, Box::pin(future));
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
        let Pool { futures, ended } = &mut *self.0;
        // All are asked once: who asked for one end at a time would ask each of the others again for every end.
        if ended.is_empty() {
            futures.retain(|_, future| match future.as_mut().poll(context) {
                Poll::Ready(value) => {
                    ended.push_back(value);
                    false
                }
                Poll::Pending => true,
            });
        }
        ended.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}
