//! Futures under way in a workflow, and the order in which their ends are taken.
//!
//! A workflow is told of ends in batches: those of one workflow task, or, where a worker answers a query, those that happened
//! so far. **Invariant** ([`PoolOrder::History`]): ends are taken one at a time in the order of the history, and what a future
//! asks of the server is asked as it is inserted. So what follows from an end is the same however the history was cut.

use std::{
    collections::{BTreeMap, VecDeque},
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake, Waker},
};

use futures::FutureExt as _;
use temporalio_sdk::{WaitConditionOptions, WorkflowCancellationToken, WorkflowContext};

/// The order in which the ends of futures are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolOrder {
    /// By their numbers, of all that have ended when the pool is asked: so decided the workflows of earlier versions.
    #[default]
    Number,
    History,
}

/// A set of futures, which ends when one of them does.
pub struct Pool<T> {
    order: PoolOrder,
    futures: BTreeMap<u64, Pin<Box<dyn Future<Output = T>>>>,
    /// The results of those that ended and were not taken, by number or, in the order of numbers, as they are taken.
    ended: VecDeque<(u64, T)>,
    /// The numbers of those that something happened to, in order.
    woken: Arc<WokenNumbers>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new(PoolOrder::default())
    }
}

impl<T> Pool<T> {
    /// Creates a pool without futures.
    pub fn new(order: PoolOrder) -> Self {
        Self { order, futures: BTreeMap::new(), ended: VecDeque::new(), woken: Arc::default() }
    }

    /// Adds a future under a number no other one has.
    pub fn insert(&mut self, number: u64, future: impl Future<Output = T> + 'static) {
        self.futures.insert(number, Box::pin(future));
        self.prompt(number);
    }

    /// Lets a future ask for what it wants, after it was told something. If that ends it, its end is taken in its turn.
    pub fn prompt(&mut self, number: u64) {
        if self.order == PoolOrder::History
            && let Some(value) = self.ask(number)
        {
            self.ended.push_back((number, value));
            self.woken.push(number);
        }
    }

    /// Waits for the end of one, and removes it; waits for ever if there is none.
    pub fn next(&mut self) -> impl Future<Output = T> + '_ {
        Next(self)
    }

    /// Asks a future whether it has ended, and removes it if it has.
    fn ask(&mut self, number: u64) -> Option<T> {
        let waker = Waker::from(Arc::new(NumberWaker { number, woken: Arc::clone(&self.woken) }));
        let future = self.futures.get_mut(&number)?;
        let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) else { return None };
        self.futures.remove(&number);
        Some(value)
    }

    /// Takes the next end in the order of the history, if it has happened.
    pub fn take_result(&mut self) -> Option<T> {
        while let Some(number) = self.woken.pop() {
            let position = self.ended.iter().position(|(ended, _)| *ended == number);
            let position = position.and_then(|place| self.ended.remove(place)).map(|(_, value)| value);
            if let Some(value) = position.or_else(|| self.ask(number)) {
                return Some(value);
            }
        }
        None
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
        if self.0.order == PoolOrder::History {
            return self.0.take_result().map_or(Poll::Pending, Poll::Ready);
        }
        let Pool { futures, ended, .. } = &mut *self.0;
        // All are asked once: who asked for one end at a time would ask each of the others again for every end.
        if ended.is_empty() {
            futures.retain(|number, future| match future.as_mut().poll(context) {
                Poll::Ready(value) => {
                    ended.push_back((*number, value));
                    false
                }
                Poll::Pending => true,
            });
        }
        ended.pop_front().map_or(Poll::Pending, |(_, value)| Poll::Ready(value))
    }
}

/// The numbers of woken futures, in order. The library wakes what waits for an event when it tells of that, in the
/// order of the history, and asks the workflow again by itself: nobody else has to be woken.
#[derive(Default)]
struct WokenNumbers(Mutex<VecDeque<u64>>);

impl WokenNumbers {
    fn push(&self, number: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(number);
    }

    fn pop(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The waker of one future.
struct NumberWaker {
    number: u64,
    woken: Arc<WokenNumbers>,
}

impl Wake for NumberWaker {
    fn wake(self: Arc<Self>) {
        self.woken.push(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, future::poll_fn, rc::Rc};

    use futures::channel::oneshot;

    use super::*;

    fn ask<T>(pool: &mut Pool<T>) -> Poll<T> {
        std::pin::pin!(pool.next()).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn by_number_all_that_ended_are_taken_and_the_others_are_asked_once() {
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

    /// A pool in the order of the history with futures of some numbers, and what ends each.
    fn pool_of(numbers: &[u64]) -> (Pool<u64>, BTreeMap<u64, oneshot::Sender<()>>) {
        let mut pool = Pool::new(PoolOrder::History);
        let mut ends = BTreeMap::new();
        for number in numbers.iter().copied() {
            let (end, ended) = oneshot::channel();
            pool.insert(number, ended.map(move |_| number));
            ends.insert(number, end);
        }
        (pool, ends)
    }

    #[test]
    fn by_history_ends_are_taken_as_they_happened_in_whatever_batches() {
        let happened = [3, 1, 4, 2];
        for cuts in 0..1 << happened.len() {
            let (mut pool, mut ends) = pool_of(&[1, 2, 3, 4]);
            let mut taken = Vec::new();
            for (place, number) in happened.into_iter().enumerate() {
                ends.remove(&number).unwrap().send(()).unwrap();
                let is_cut = cuts >> place & 1 == 1 || place + 1 == happened.len();
                while is_cut && let Poll::Ready(number) = ask(&mut pool) {
                    taken.push(number);
                }
            }
            assert_eq!(taken, happened, "cuts {cuts:b}");
        }
    }

    #[test]
    fn by_history_a_future_asks_as_it_is_inserted_and_a_prompt_does_not_change_its_turn() {
        let (mut pool, mut ends) = pool_of(&[1, 2]);
        let asked = Rc::new(Cell::new(0));
        let counted = Rc::clone(&asked);
        pool.insert(
            3,
            poll_fn(move |_| {
                counted.set(counted.get() + 1);
                Poll::Pending
            }),
        );
        assert_eq!(asked.get(), 1);
        for number in [1, 2] {
            ends.remove(&number).unwrap().send(()).unwrap();
        }
        pool.prompt(2);
        pool.prompt(3);
        assert_eq!(asked.get(), 2);
        pool.insert(4, std::future::ready(4));
        assert_eq!([ask(&mut pool), ask(&mut pool), ask(&mut pool)], [1, 2, 4].map(Poll::Ready));
        assert_eq!(ask(&mut pool), Poll::Pending);
    }
}
