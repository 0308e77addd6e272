use crate::engine::{Interest, Observer, Remark, RunRef, Stream};
use crate::machine::{Attempt, Event, Place};

/// Observers that follow the same run.
#[derive(Default)]
pub struct Several {
    all: Vec<Box<dyn Observer + Send>>,
}

impl Several {
    /// Adds one; they are called in the order they were added.
    pub fn add(&mut self, observer: impl Observer + Send + 'static) {
        self.all.push(Box::new(observer));
    }
}

impl Observer for Several {
    fn event(&mut self, run: &RunRef, event: &Event) {
        for observer in &mut self.all {
            observer.event(run, event);
        }
    }

    fn behind(&mut self, run: &RunRef, event: &Event) {
        for observer in &mut self.all {
            observer.behind(run, event);
        }
    }

    fn remark(&mut self, run: &RunRef, place: &Place, remark: &Remark) {
        for observer in &mut self.all {
            observer.remark(run, place, remark);
        }
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, stream: Stream, bytes: &[u8]) {
        let wanting = |o: &&mut Box<dyn Observer + Send>| o.wants_output() != Interest::Nothing;
        for observer in self.all.iter_mut().filter(wanting) {
            observer.output(run, attempt, stream, bytes);
        }
    }

    fn tick(&mut self) {
        for observer in self.all.iter_mut().filter(|o| o.wants_ticks()) {
            observer.tick();
        }
    }

    fn lost(&mut self) -> Option<std::io::Error> {
        self.all.iter_mut().find_map(|observer| observer.lost())
    }

    fn wants_output(&self) -> Interest {
        let wants = self.all.iter().map(|observer| observer.wants_output());
        wants.max().unwrap_or_default()
    }

    fn wants_ticks(&self) -> bool {
        self.all.iter().any(|observer| observer.wants_ticks())
    }
}
