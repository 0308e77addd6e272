use std::sync::{Arc, Mutex, PoisonError};

use super::tap::Line;
use super::{Message, Tap};

/// How many messages wait for a tap before it loses some.
const ROOM: usize = 1 << 14;

/// Where messages are published. Clones are the same bus; when the last of them is dropped, the
/// taps come to their end.
#[derive(Clone, Debug, Default)]
pub struct Bus(Arc<Lines>);

#[derive(Debug, Default)]
struct Lines(Mutex<Vec<Arc<Line>>>);

impl Bus {
    /// A bus that nobody listens to yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells everybody who listens. Never waits for them, and never fails.
    pub fn publish(&self, message: Message) {
        let mut lines = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.is_open());
        if let Some((last, others)) = lines.split_last() {
            for line in others {
                line.put(message.clone());
            }
            last.put(message);
        }
    }

    /// Lets somebody listen from now on.
    pub fn tap(&self) -> Tap {
        self.tap_with_room(ROOM)
    }

    /// Lets somebody listen for whom at most so many messages wait.
    pub fn tap_with_room(&self, room: usize) -> Tap {
        let line = Arc::new(Line::new(room));
        let mut lines = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push(Arc::clone(&line));
        Tap::new(line)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let lines = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        for line in lines.iter() {
            line.close();
        }
    }
}
