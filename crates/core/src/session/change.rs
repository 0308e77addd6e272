use super::{SessionRecord, SessionState};
use wf_base::name::SessionName;
use wf_base::remedy::{Remedy, UserAction};
use wf_base::time::Moment;

/// A decision of a person about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// To make it current.
    Enter,
    /// To put it aside.
    Suspend {
        /// True to interrupt the steps under way.
        interrupts: bool,
        /// The reason; may be empty.
        reason: String,
    },
    /// To take it up again.
    Resume,
    /// To end it, since its work is done.
    Complete,
    /// To end it, since its work is given up.
    Fail { reason: String },
}

/// The reason why nothing is done in a session, or about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionRefusal {
    /// There is no session of this name.
    #[error("session `{0}` does not exist")]
    Unknown(SessionName),
    #[error("session `{0}` already exists")]
    Known(SessionName),
    /// It was put aside.
    #[error("session `{0}` is suspended")]
    Suspended(SessionName),
    /// It is in use.
    #[error("session `{0}` is active")]
    Active(SessionName),
    /// It has ended.
    #[error("session `{name}` has ended: {state}")]
    Over {
        name: SessionName,
        /// The state in which it ended.
        state: SessionState,
    },
}

impl SessionRefusal {
    /// Returns what to do about it, in one sentence.
    pub fn remedy(&self) -> Remedy {
        let (text, action) = match self {
            Self::Unknown(_) => {
                return Remedy::from("see the sessions with ")
                    .quoted(UserAction::ListSessions)
                    .text(", or begin one: ")
                    .action(UserAction::BeginSession);
            }
            Self::Known(_) => ("choose another name, or use it: ", UserAction::SwitchSession),
            Self::Suspended(_) => ("take it up again: ", UserAction::ResumeSomeSession),
            Self::Active(_) => {
                ("there is nothing to resume; to make it current: ", UserAction::SwitchSession)
            }
            Self::Over { .. } => ("begin another one: ", UserAction::BeginSession),
        };
        Remedy::from(text).action(action)
    }
}

impl SessionRecord {
    /// Refuses what may only be done in an active session.
    pub fn require_active(&self) -> Result<(), SessionRefusal> {
        match self.state {
            SessionState::Active => Ok(()),
            SessionState::Suspended => Err(SessionRefusal::Suspended(self.name.clone())),
            state => Err(SessionRefusal::Over { name: self.name.clone(), state }),
        }
    }

    /// Returns the session after a change. To suspend it a second time may only add that what is under way is
    /// interrupted.
    pub fn change(&self, change: SessionChange, now: Moment) -> Result<Self, SessionRefusal> {
        if self.state.is_over() {
            return Err(SessionRefusal::Over { name: self.name.clone(), state: self.state });
        }
        let to = |state, reason| {
            let changed = if state == self.state { self.changed } else { now };
            Self { state, reason, changed, interrupts: false, is_current: false, ..self.clone() }
        };
        match (change, self.state) {
            (SessionChange::Enter, _) => {
                self.require_active()?;
                Ok(Self { is_current: true, ..self.clone() })
            }
            (SessionChange::Suspend { interrupts: false, .. }, SessionState::Suspended) => {
                Err(SessionRefusal::Suspended(self.name.clone()))
            }
            (SessionChange::Suspend { interrupts, reason }, state) => {
                let is_repeated = state == SessionState::Suspended && reason.is_empty();
                let reason = if is_repeated { self.reason.clone() } else { reason };
                Ok(Self { interrupts, ..to(SessionState::Suspended, reason) })
            }
            (SessionChange::Resume, SessionState::Suspended) => {
                Ok(Self { is_current: true, ..to(SessionState::Active, String::new()) })
            }
            (SessionChange::Resume, _) => Err(SessionRefusal::Active(self.name.clone())),
            (SessionChange::Complete, _) => Ok(to(SessionState::Completed, String::new())),
            (SessionChange::Fail { reason }, _) => Ok(to(SessionState::Failed, reason)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SessionChange::{Complete, Enter, Fail, Resume, Suspend};
    use super::{SessionRecord, SessionRefusal};
    use crate::session::SessionState;
    use wf_base::name::SessionName;
    use wf_base::time::Moment;

    const LATER: Moment = Moment::from_millis(7);

    fn session() -> SessionRecord {
        SessionRecord::begin(SessionName::parse("feature-a").unwrap(), Moment::from_millis(1))
    }

    fn suspend(interrupts: bool, reason: &str) -> super::SessionChange {
        Suspend { interrupts, reason: reason.into() }
    }

    #[test]
    fn a_session_is_put_aside_and_taken_up_again() {
        let aside = session().change(suspend(false, "bug b"), LATER).unwrap();
        assert_eq!((aside.state, aside.is_current, aside.changed), (SessionState::Suspended, false, LATER));
        assert_eq!(aside.require_active(), Err(SessionRefusal::Suspended(aside.name.clone())));
        assert!(aside.change(Enter, LATER).is_err());
        assert!(aside.change(suspend(false, ""), LATER).is_err());
        let now = aside.change(suspend(true, ""), Moment::from_millis(9)).unwrap();
        assert_eq!((now.interrupts, now.reason.as_str(), now.changed), (true, "bug b", LATER));
        let again = now.change(Resume, LATER).unwrap();
        assert!(again.is_current && !again.interrupts && again.reason.is_empty());
        assert_eq!(again.require_active(), Ok(()));
        assert_eq!(again.change(Resume, LATER), Err(SessionRefusal::Active(again.name.clone())));
    }

    #[test]
    fn a_session_that_is_over_stays_over() {
        let aside = session().change(suspend(false, ""), LATER).unwrap();
        for before in [session(), aside] {
            for (end, state) in
                [(Complete, SessionState::Completed), (Fail { reason: "x".into() }, SessionState::Failed)]
            {
                let over = before.change(end, LATER).unwrap();
                assert_eq!((over.state, over.is_current), (state, false));
                for change in [Enter, suspend(true, ""), Resume, Complete, Fail { reason: "y".into() }] {
                    let refused = Err(SessionRefusal::Over { name: over.name.clone(), state });
                    assert_eq!(over.change(change, LATER), refused);
                }
            }
        }
    }
}
