use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::BusMessage;

/// An item received by a tap.
#[derive(Clone, Debug, PartialEq)]
pub enum BusDelivery {
    Message(Box<BusMessage>),
    /// The number of messages lost here because the tap was too slow.
    Lost(u64),
}

/// A listener on a bus. It can receive and stop listening; it holds nothing that could publish, and
/// none of its actions is visible to others.
#[derive(Debug)]
pub struct BusSubscription(Arc<SubscriberQueue>);

/// A handle ending a tap from elsewhere: earlier messages are still received.
#[derive(Debug)]
pub struct BusUnsubscriber(Arc<SubscriberQueue>);

/// The queue of one tap.
#[derive(Debug)]
pub(super) struct SubscriberQueue {
    state: Mutex<SubscriberQueueState>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct SubscriberQueueState {
    queue: VecDeque<BusDelivery>,
    open: bool,
    urgent: bool,
}

impl SubscriberQueue {
    pub(super) fn new(room: usize) -> Self {
        Self {
            state: Mutex::new(SubscriberQueueState { queue: VecDeque::new(), open: true, urgent: false }),
            changed: Condvar::new(),
            capacity: room,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, SubscriberQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_open(&self) -> bool {
        self.waiting().open
    }

    /// Adds a message, or counts it as lost. A waiting listener is woken only by the first message,
    /// by an urgent one, and when half of the room is taken.
    pub(super) fn push(&self, message: BusMessage) {
        let mut waiting = self.waiting();
        if !waiting.open {
            return;
        }
        let urgent = message.is_urgent();
        if waiting.queue.len() < self.capacity {
            waiting.queue.push_back(BusDelivery::Message(Box::new(message)));
        } else if let Some(BusDelivery::Lost(count)) = waiting.queue.back_mut() {
            *count += 1;
        } else {
            waiting.queue.push_back(BusDelivery::Lost(1));
        }
        waiting.urgent |= urgent;
        let length = waiting.queue.len();
        drop(waiting);
        if urgent || length == 1 || length == self.capacity / 2 {
            self.changed.notify_one();
        }
    }

    pub(super) fn close(&self) {
        self.waiting().open = false;
        self.changed.notify_one();
    }
}

impl BusSubscription {
    pub(super) fn new(queue: Arc<SubscriberQueue>) -> Self {
        Self(queue)
    }

    /// Waits until a message arrives, or the bus ends. Takes nothing.
    pub fn wait_for_message(&self) {
        let line = &self.0;
        let still = |state: &mut SubscriberQueueState| state.open && state.queue.is_empty();
        drop(line.changed.wait_while(line.waiting(), still));
    }

    /// Returns the messages since the last call, in order. Waits for the first of them, and then a
    /// little longer for more, unless one is urgent. `None` after the end of the bus.
    pub fn wait(&self, pause: Duration) -> Option<Vec<BusDelivery>> {
        let line = &self.0;
        let mut waiting = line
            .changed
            .wait_while(line.waiting(), |waiting| waiting.open && waiting.queue.is_empty())
            .unwrap_or_else(PoisonError::into_inner);
        if !waiting.queue.is_empty() {
            waiting = self.wait_for_batch(waiting, pause);
        }
        Self::drain(&mut waiting)
    }

    /// Returns the messages since the last call, possibly none. Waits at most `pause`, and not at
    /// all if one is urgent. `None` after the end of the bus.
    pub fn poll(&self, pause: Duration) -> Option<Vec<BusDelivery>> {
        Self::drain(&mut self.wait_for_batch(self.0.waiting(), pause))
    }

    fn wait_for_batch<'a>(
        &self,
        waiting: MutexGuard<'a, SubscriberQueueState>,
        pause: Duration,
    ) -> MutexGuard<'a, SubscriberQueueState>
    where
        Self: 'a,
    {
        let half = self.0.capacity / 2;
        let calm = |state: &mut SubscriberQueueState| state.open && !state.urgent && state.queue.len() < half;
        let waited = self.0.changed.wait_timeout_while(waiting, pause, calm);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn drain(state: &mut SubscriberQueueState) -> Option<Vec<BusDelivery>> {
        state.urgent = false;
        let delivery: Vec<BusDelivery> = state.queue.drain(..).collect();
        (state.open || !delivery.is_empty()).then_some(delivery)
    }

    /// Returns a handle ending this tap from elsewhere.
    pub fn unsubscriber(&self) -> BusUnsubscriber {
        BusUnsubscriber(Arc::clone(&self.0))
    }
}

impl Drop for BusSubscription {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl BusUnsubscriber {
    /// Ends the tap: it receives the messages so far, and then nothing more.
    pub fn end(&self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{BusMessage, MessageBus, WorkspaceAction},
        BusDelivery,
    };
    use std::time::Duration;
    use wf_base::time::Moment;

    fn message(runs: u64) -> BusMessage {
        BusMessage::act(Moment::default(), WorkspaceAction::Pruned { runs, db: None })
    }

    #[test]
    fn everybody_hears_everything_in_order() {
        let bus = MessageBus::new();
        bus.publish(message(0));
        let taps = [bus.tap(), bus.tap()];
        (1..4).for_each(|n| bus.publish(message(n)));
        for tap in taps {
            let heard = tap.wait(Duration::ZERO).unwrap();
            let expected: Vec<BusDelivery> =
                (1..4).map(|n| BusDelivery::Message(Box::new(message(n)))).collect();
            assert_eq!(heard, expected);
        }
    }

    #[test]
    fn a_slow_tap_loses_messages_and_is_told_how_many() {
        let bus = MessageBus::new();
        let tap = bus.tap_with_room(2);
        (0..5).for_each(|n| bus.publish(message(n)));
        let heard = tap.wait(Duration::ZERO).unwrap();
        let first = (0..2).map(|n| BusDelivery::Message(Box::new(message(n))));
        let expected: Vec<BusDelivery> = first.chain([BusDelivery::Lost(3)]).collect();
        assert_eq!(heard, expected);
        bus.publish(message(9));
        assert_eq!(tap.wait(Duration::ZERO).unwrap().len(), 1);
    }

    #[test]
    fn what_came_before_the_end_is_heard() {
        let bus = MessageBus::new();
        let (one, other) = (bus.tap(), bus.tap());
        bus.publish(message(1));
        one.unsubscriber().end();
        bus.publish(message(2));
        assert_eq!(one.wait(Duration::ZERO).unwrap().len(), 1);
        assert_eq!(one.wait(Duration::ZERO), None);
        drop(bus);
        assert_eq!(other.wait(Duration::ZERO).unwrap().len(), 2);
        assert_eq!(other.wait(Duration::ZERO), None);
    }

    #[test]
    fn who_is_stirred_has_taken_nothing() {
        let bus = MessageBus::new();
        let tap = bus.tap();
        bus.publish(message(1));
        tap.wait_for_message();
        assert_eq!(tap.wait(Duration::ZERO).unwrap().len(), 1);
        tap.unsubscriber().end();
        tap.wait_for_message();
        assert_eq!(tap.wait(Duration::ZERO), None);
    }

    #[test]
    fn a_tap_that_went_away_holds_nobody_up() {
        let bus = MessageBus::new();
        drop(bus.tap_with_room(1));
        (0..3).for_each(|n| bus.publish(message(n)));
    }
}
