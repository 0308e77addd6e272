//! What attempts print, on its way to those who follow the run.

use std::sync::Arc;

use crate::exec::{OnOutput, log};
use crate::machine::Ended;
use crate::model::Step;

use super::unit::Task;
use super::{Interest, Stream};

/// How many of the last lines are shown to those who want only these; a view keeps fewer.
const LINES: usize = 100;

impl Task {
    /// Who is shown everything while it is printed.
    pub(super) fn on_output(&self) -> Option<OnOutput> {
        let (run, attempt) = (Arc::clone(&self.run), self.attempt.clone());
        let show = move |stream: log::Stream, bytes: &[u8]| {
            let stream = match stream {
                log::Stream::Out => Stream::Out,
                log::Stream::Err | log::Stream::Note => Stream::Err,
            };
            run.session
                .observe(|observer| observer.output(&run.this, &attempt, stream, bytes));
        };
        (self.interest() == Interest::Everything).then(|| Box::new(show) as OnOutput)
    }

    /// Shows the last lines of an attempt that failed, or that others still rule on. A log that
    /// cannot be read shows nothing; that is told elsewhere.
    pub(super) fn show_end(&self, step: &Step, ended: &Ended) {
        let gates = &self.run.plan.parts().gates;
        let decided = step.verify.is_empty() && step.gates.is_empty() && gates.is_empty();
        if ended.exit.is_success() && decided || self.interest() != Interest::Ends {
            return;
        }
        let path = log::path(&self.run.dir, &self.attempt);
        let Some(mut text) = log::tail(&path, LINES).ok().filter(|text| !text.is_empty()) else {
            return;
        };
        text.push('\n');
        let (run, attempt) = (&self.run, &self.attempt);
        let show = |observer: &mut dyn super::Observer| {
            observer.output(&run.this, attempt, Stream::Out, text.as_bytes());
        };
        run.session.observe(show);
    }

    fn interest(&self) -> Interest {
        let mut interest = Interest::default();
        self.run
            .session
            .observe(|observer| interest = observer.wants_output());
        interest
    }
}
