//! Futures that are under way in a workflow, polled in the order of their numbers, so that a replay sees the same order.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use temporalio_sdk::{WaitConditionOptions, WorkflowCancellationToken, WorkflowContext};

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

impl<T> Pool<T> {
    /// Waits for the end of one, or for a message of the workflow: `None`. The wait does not end if the workflow is cancelled.
    pub async fn next_unless<W>(
        &mut self,
        ctx: &WorkflowContext<W>,
        has_message: impl Fn(&W) -> bool + 'static,
    ) -> Option<T> {
        let own = WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new());
        let arrived = ctx.wait_condition_with_options(has_message, own.build());
        let (mut arrived, mut ended) = (std::pin::pin!(arrived), std::pin::pin!(self.next().fuse()));
        temporalio_sdk::workflows::select! {
            ended = ended => Some(ended),
            _ = arrived => None,
        }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;
    use std::rc::Rc;
    use std::task::Waker;

    use super::*;

    fn ask<T>(pool: &mut Pool<T>) -> Poll<T> {
        std::pin::pin!(pool.next()).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn what_ended_is_taken_in_order_and_the_others_are_asked_once() {
        let (mut pool, asked, is_over) = (Pool::default(), Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
        for number in [3, 1, 2] {
            let (asked, is_over) = (Rc::clone(&asked), Rc::clone(&is_over));
            let work = poll_fn(move |_| {
                asked.set(asked.get() + 1);
                if number == 2 || is_over.get() { Poll::Ready(number) } else { Poll::Pending }
            });
            pool.insert(number, work);
        }
        assert_eq!(ask(&mut pool), Poll::Ready(2));
        assert_eq!(ask(&mut pool), Poll::Pending);
        is_over.set(true);
        asked.set(0);
        assert_eq!([ask(&mut pool), ask(&mut pool)], [Poll::Ready(1), Poll::Ready(3)]);
        assert_eq!(asked.get(), 2);
        assert_eq!(ask(&mut pool), Poll::Pending);
    }
}
