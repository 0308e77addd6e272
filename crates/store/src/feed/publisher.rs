use std::sync::{Arc, Mutex, PoisonError};

use super::{BusMessage, BusSubscription, tap::SubscriberQueue};

/// The number of messages waiting for a tap before it loses some.
const ROOM: usize = 1 << 14;

/// The publishing end of a bus. Clones are the same bus; when the last of them is dropped, the taps
/// end.
#[derive(Clone, Debug, Default)]
pub struct MessageBus(Arc<BusSubscribers>);

#[derive(Debug, Default)]
struct BusSubscribers(Mutex<Vec<Arc<SubscriberQueue>>>);

impl MessageBus {
    /// Makes a bus without listeners.
    pub fn new() -> Self {
        Self::default()
    }

    /// Publishes a message to all taps. Never waits for them, and never fails.
    pub fn publish(&self, message: BusMessage) {
        let mut lines = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.is_open());
        if let Some((last, others)) = lines.split_last() {
            for line in others {
                line.push(message.clone());
            }
            last.push(message);
        }
    }

    /// Opens a tap, which receives from now on.
    pub fn tap(&self) -> BusSubscription {
        self.tap_with_room(ROOM)
    }

    /// Opens a tap for which at most `room` messages wait.
    pub fn tap_with_room(&self, room: usize) -> BusSubscription {
        let line = Arc::new(SubscriberQueue::new(room));
        let mut lines = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(Arc::clone(&line));
        BusSubscription::new(line)
    }
}

impl Drop for BusSubscribers {
    fn drop(&mut self) {
        let lines = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter() {
            line.close();
        }
    }
}
