//! The decision whether a run may be undone.
//!
//! When a run whose plan has `undo` succeeds, the machine evaluates the parameters of the plan undoing it,
//! and records them with the last moment it may start: an [`UndoOffer`]. So what undoes a run is known before
//! anybody asks for it.

use serde::{Deserialize, Serialize};
use wf_base::{
    name::RunId,
    remedy::{Remedy, UserAction},
    time::Moment,
    units::moment,
};
use wf_model::JsonObject;

use crate::machine::RunOutcome;

/// The recorded means to undo a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UndoOffer {
    /// The path of the plan that undoes it, relative to the workspace.
    pub path: String,
    /// The parameters of that plan.
    pub params: JsonObject,
    /// The moment from which it is too late.
    pub until: Moment,
}

/// A run undoing another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UndoRun {
    /// The run.
    pub run: RunId,
    /// Its outcome; `None` while it has not ended.
    pub outcome: Option<RunOutcome>,
}

/// The reason why a run cannot be undone now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoRefusal {
    /// Another run has undone it.
    #[error("was undone before, by run {}", .0.short())]
    Undone(RunId),
    /// Another run undoing it has not ended.
    #[error("is being undone by run {}, which has not finished", .0.short())]
    UnderWay(RunId),
    /// The time is over.
    #[error("could be undone until {}", moment(*.0))]
    Late(Moment),
}

/// Refuses a further undo of a run if one has succeeded, or has not ended.
pub fn refuse_second(undone_by: &[UndoRun]) -> Result<(), UndoRefusal> {
    for undo in undone_by {
        match undo.outcome {
            Some(RunOutcome::Succeeded) => return Err(UndoRefusal::Undone(undo.run.clone())),
            None => return Err(UndoRefusal::UnderWay(undo.run.clone())),
            Some(RunOutcome::Failed | RunOutcome::Cancelled | RunOutcome::Abandoned) => {}
        }
    }
    Ok(())
}

impl UndoRefusal {
    /// Returns what to do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Undone(_) => Remedy::from("see what was undone with ")
                .quoted(UserAction::ShowThatRun)
                .text("; to do it again, run the plan again"),
            Self::UnderWay(_) => Remedy::from("see what it waits for with ").quoted(UserAction::ShowThatRun),
            Self::Late(_) => "write a plan that restores what the run changed, and run it".into(),
        }
    }
}

impl UndoOffer {
    /// Decides whether the run may be undone now. One that failed to undo it may be followed by another.
    pub fn decide(&self, undone_by: &[UndoRun], now: Moment) -> Result<(), UndoRefusal> {
        refuse_second(undone_by)?;
        if now < self.until { Ok(()) } else { Err(UndoRefusal::Late(self.until)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{UndoOffer, UndoRefusal, UndoRun};
    use crate::machine::RunOutcome;
    use wf_base::{name::RunId, time::Moment};
    use wf_model::JsonObject;

    const UNTIL: Moment = Moment::from_millis(300_000);

    fn run(number: u8) -> RunId {
        RunId::from_bytes([number; 16])
    }

    fn decide(undone_by: &[(u8, Option<RunOutcome>)], at: i64) -> Result<(), UndoRefusal> {
        let offer = UndoOffer { path: "back.md".into(), params: JsonObject::new(), until: UNTIL };
        let undone_by =
            undone_by.iter().map(|(number, outcome)| UndoRun { run: run(*number), outcome: *outcome });
        offer.decide(&undone_by.collect::<Vec<_>>(), Moment::from_millis(at))
    }

    #[test]
    fn a_run_can_be_undone_before_its_time_is_over() {
        assert_eq!(decide(&[], 299_999), Ok(()));
        assert_eq!(decide(&[], 300_000), Err(UndoRefusal::Late(UNTIL)));
    }

    #[test]
    fn a_run_is_undone_once() {
        let succeeded = Some(RunOutcome::Succeeded);
        assert_eq!(decide(&[(1, succeeded)], 0), Err(UndoRefusal::Undone(run(1))));
        assert_eq!(decide(&[(1, succeeded)], 900_000), Err(UndoRefusal::Undone(run(1))));
        assert_eq!(decide(&[(1, None)], 0), Err(UndoRefusal::UnderWay(run(1))));
    }

    #[test]
    fn what_failed_may_be_tried_again_in_time() {
        for outcome in [RunOutcome::Failed, RunOutcome::Cancelled, RunOutcome::Abandoned] {
            assert_eq!(decide(&[(1, Some(outcome))], 0), Ok(()));
            assert_eq!(decide(&[(1, Some(outcome)), (2, None)], 0), Err(UndoRefusal::UnderWay(run(2))));
            assert_eq!(decide(&[(1, Some(outcome))], 300_000), Err(UndoRefusal::Late(UNTIL)));
        }
    }
}
