use wf_core::{
    machine::{Attempt, Event, TaskId},
    observe::{OutputInterest, OutputStream, RunObserver, RunRef, TaskRemark},
};

/// Observers following the same run.
#[derive(Default)]
pub struct CombinedObserver {
    observers: Vec<Box<dyn RunObserver + Send>>,
}

impl CombinedObserver {
    /// Adds one; they are called in the order they were added.
    pub fn add(&mut self, observer: impl RunObserver + Send + 'static) {
        self.observers.push(Box::new(observer));
    }
}

impl RunObserver for CombinedObserver {
    fn event(&mut self, run: &RunRef, event: &Event) {
        for observer in &mut self.observers {
            observer.event(run, event);
        }
    }

    fn replayed(&mut self, run: &RunRef, event: &Event) {
        for observer in &mut self.observers {
            observer.replayed(run, event);
        }
    }

    fn remark(&mut self, run: &RunRef, task_id: &TaskId, remark: &TaskRemark) {
        for observer in &mut self.observers {
            observer.remark(run, task_id, remark);
        }
    }

    fn output(&mut self, run: &RunRef, attempt: &Attempt, stream: OutputStream, bytes: &[u8]) {
        let wanting = |o: &&mut Box<dyn RunObserver + Send>| o.wants_output() != OutputInterest::Nothing;
        for observer in self.observers.iter_mut().filter(wanting) {
            observer.output(run, attempt, stream, bytes);
        }
    }

    fn tick(&mut self) {
        for observer in self.observers.iter_mut().filter(|o| o.wants_ticks()) {
            observer.tick();
        }
    }

    fn write_error(&mut self) -> Option<std::io::Error> {
        self.observers.iter_mut().find_map(|observer| observer.write_error())
    }

    fn wants_output(&self) -> OutputInterest {
        let wants = self.observers.iter().map(|observer| observer.wants_output());
        wants.max().unwrap_or_default()
    }

    fn wants_ticks(&self) -> bool {
        self.observers.iter().any(|observer| observer.wants_ticks())
    }
}
