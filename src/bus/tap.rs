use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Message;

/// What a tap hears.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// A message.
    Message(Message),
    /// So many messages came here that it was too slow for.
    Lost(u64),
}

/// Listens to a bus. It can receive and stop to listen; it holds nothing that could publish, and
/// nothing that it does reaches anybody.
#[derive(Debug)]
pub struct Tap(Arc<Line>);

/// Ends a tap from elsewhere: what came before is still heard.
#[derive(Debug)]
pub struct Leave(Arc<Line>);

/// What waits for one tap.
#[derive(Debug)]
pub(super) struct Line {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    room: usize,
}

#[derive(Debug)]
struct Waiting {
    queue: VecDeque<Heard>,
    open: bool,
    urgent: bool,
}

impl Line {
    pub(super) fn new(room: usize) -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                queue: VecDeque::new(),
                open: true,
                urgent: false,
            }),
            changed: Condvar::new(),
            room,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_open(&self) -> bool {
        self.waiting().open
    }

    /// Adds a message, or counts it as lost. Whoever waits is woken only by the first message, by
    /// one that is urgent, and when half of the room is taken.
    pub(super) fn put(&self, message: Message) {
        let mut waiting = self.waiting();
        if !waiting.open {
            return;
        }
        let urgent = message.is_urgent();
        if waiting.queue.len() < self.room {
            waiting.queue.push_back(Heard::Message(message));
        } else if let Some(Heard::Lost(count)) = waiting.queue.back_mut() {
            *count += 1;
        } else {
            waiting.queue.push_back(Heard::Lost(1));
        }
        waiting.urgent |= urgent;
        let length = waiting.queue.len();
        drop(waiting);
        if urgent || length == 1 || length == self.room / 2 {
            self.changed.notify_one();
        }
    }

    pub(super) fn close(&self) {
        self.waiting().open = false;
        self.changed.notify_one();
    }
}

impl Tap {
    pub(super) fn new(line: Arc<Line>) -> Self {
        Self(line)
    }

    /// Waits until something came, or nothing more will. Takes nothing.
    pub fn stirred(&self) {
        let line = &self.0;
        let still = |waiting: &mut Waiting| waiting.open && waiting.queue.is_empty();
        drop(line.changed.wait_while(line.waiting(), still));
    }

    /// What came since it was asked last, in order. Waits for the first of it, and then a little
    /// longer for more, unless something is urgent. `None` once nothing more will come.
    pub fn wait(&self, pause: Duration) -> Option<Vec<Heard>> {
        let line = &self.0;
        let mut waiting = line
            .changed
            .wait_while(line.waiting(), |waiting| {
                waiting.open && waiting.queue.is_empty()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if !waiting.queue.is_empty() {
            waiting = self.linger(waiting, pause);
        }
        Self::take(&mut waiting)
    }

    /// What came since it was asked last, perhaps nothing. Waits no longer than said, and not at
    /// all if something is urgent. `None` once nothing more will come.
    pub fn poll(&self, pause: Duration) -> Option<Vec<Heard>> {
        Self::take(&mut self.linger(self.0.waiting(), pause))
    }

    fn linger<'a>(
        &self,
        waiting: MutexGuard<'a, Waiting>,
        pause: Duration,
    ) -> MutexGuard<'a, Waiting>
    where
        Self: 'a,
    {
        let half = self.0.room / 2;
        let calm =
            |waiting: &mut Waiting| waiting.open && !waiting.urgent && waiting.queue.len() < half;
        let waited = self.0.changed.wait_timeout_while(waiting, pause, calm);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn take(waiting: &mut Waiting) -> Option<Vec<Heard>> {
        waiting.urgent = false;
        let heard: Vec<Heard> = waiting.queue.drain(..).collect();
        (waiting.open || !heard.is_empty()).then_some(heard)
    }

    /// What ends this tap from elsewhere.
    pub fn leave(&self) -> Leave {
        Leave(Arc::clone(&self.0))
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Leave {
    /// Ends the tap: it hears what came before, and then nothing more.
    pub fn end(&self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Act, Bus, Message};
    use super::Heard;
    use crate::time::Moment;
    use std::time::Duration;

    fn message(runs: u64) -> Message {
        Message::act(Moment::default(), Act::Pruned { runs, db: None })
    }

    #[test]
    fn everybody_hears_everything_in_order() {
        let bus = Bus::new();
        bus.publish(message(0));
        let taps = [bus.tap(), bus.tap()];
        (1..4).for_each(|n| bus.publish(message(n)));
        for tap in taps {
            let heard = tap.wait(Duration::ZERO).unwrap();
            let expected: Vec<Heard> = (1..4).map(|n| Heard::Message(message(n))).collect();
            assert_eq!(heard, expected);
        }
    }

    #[test]
    fn a_slow_tap_loses_messages_and_is_told_how_many() {
        let bus = Bus::new();
        let tap = bus.tap_with_room(2);
        (0..5).for_each(|n| bus.publish(message(n)));
        let heard = tap.wait(Duration::ZERO).unwrap();
        let first = (0..2).map(|n| Heard::Message(message(n)));
        let expected: Vec<Heard> = first.chain([Heard::Lost(3)]).collect();
        assert_eq!(heard, expected);
        bus.publish(message(9));
        assert_eq!(tap.wait(Duration::ZERO).unwrap().len(), 1);
    }

    #[test]
    fn what_came_before_the_end_is_heard() {
        let bus = Bus::new();
        let (one, other) = (bus.tap(), bus.tap());
        bus.publish(message(1));
        one.leave().end();
        bus.publish(message(2));
        assert_eq!(one.wait(Duration::ZERO).unwrap().len(), 1);
        assert_eq!(one.wait(Duration::ZERO), None);
        drop(bus);
        assert_eq!(other.wait(Duration::ZERO).unwrap().len(), 2);
        assert_eq!(other.wait(Duration::ZERO), None);
    }

    #[test]
    fn who_is_stirred_has_taken_nothing() {
        let bus = Bus::new();
        let tap = bus.tap();
        bus.publish(message(1));
        tap.stirred();
        assert_eq!(tap.wait(Duration::ZERO).unwrap().len(), 1);
        tap.leave().end();
        tap.stirred();
        assert_eq!(tap.wait(Duration::ZERO), None);
    }

    #[test]
    fn a_tap_that_went_away_holds_nobody_up() {
        let bus = Bus::new();
        drop(bus.tap_with_room(1));
        (0..3).for_each(|n| bus.publish(message(n)));
    }
}
