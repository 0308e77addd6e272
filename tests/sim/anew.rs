//! What a new round does to what is known.

use wf_base::{name::Name, time::Moment};
use wf_core::{
    ggs::Directive,
    machine::{Round, RunPhase, Standing, StepState, TaskId},
};

use super::ledger::{Book, Ledger};

impl Ledger {
    /// Takes into account what follows from a round.
    pub(super) fn follow(&mut self, round: &Round, at: Moment) {
        if round.goes_on() {
            self.reopen(&round.reopened, at);
        } else if round.solved.directive == Directive::Success {
            self.failed = None;
        }
    }

    /// Steps begin anew. Their attempts go on counting; items that ended well stay as they are, if
    /// what their step depends on does.
    fn reopen(&mut self, steps: &[Name], at: Moment) {
        for step in steps {
            let end = self.end(&TaskId::of_step(step)).map(|end| end.state);
            let same = end != Some(StepState::Succeeded)
                && self.needs[step].iter().all(|need| !steps.contains(need));
            let keys = self.keys.remove(step).unwrap_or_default();
            self.items.remove(step);
            for (place, book) in &mut self.places {
                if place.step != *step {
                    continue;
                }
                let mut stays = false;
                let evidence = book.evidence;
                if let Some(key) = place.item.and_then(|item| keys.get(item as usize)) {
                    let well = book.ended.as_ref().map(|end| end.state);
                    stays = same && well == Some(StepState::Succeeded);
                    let key = (step.clone(), key.clone());
                    if stays {
                        self.kept.insert(key, evidence);
                    } else {
                        self.kept.remove(&key);
                    }
                }
                let evidence = evidence.filter(|_| stays);
                book.begins_anew(same || place.item.is_none(), at);
                book.evidence = evidence;
                if !stays {
                    self.stale.remove(place);
                }
            }
            let of_it = |task_id: &TaskId| task_id.step == *step;
            self.passed.retain(|(place, _)| !place.as_ref().is_some_and(of_it));
            self.agreed.retain(|place, _| !of_it(place));
        }
        (self.failed, self.stopping, self.judged) = (None, false, None);
        self.phase = RunPhase::Steps;
    }
}

impl Book {
    /// Another round begins. What failed is told what its last attempt lacked, if that is known to
    /// be of the same work.
    fn begins_anew(&mut self, same: bool, at: Moment) {
        let end = self.ended.take();
        let told = same && end.as_ref().is_some_and(|end| end.state == StepState::Failed);
        let history = std::mem::take(&mut self.history);
        *self = Self {
            attempts: self.attempts,
            base: self.attempts,
            again: Some(at),
            refuted: end.is_some_and(|end| end.standing == Standing::Refuted),
            history: if told { history } else { Vec::new() },
            ..Self::default()
        };
    }
}
