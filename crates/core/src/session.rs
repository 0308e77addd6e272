//! Sessions: lines of work of a workspace that are kept apart, put aside and taken up again (Sylk, W01 to W11).
//!
//! Runs, conversations of agents and notes belong to the session in which they began, or to none. A [`SessionRecord`] says
//! how a session is; a [`SessionChange`] is what a person decides about it, and [`SessionRecord::change`] what follows.
//!
//! **Invariant:** a session that is over stays over, and the session that is current is active.

use serde::{Deserialize, Serialize};

use wf_base::{
    keywords,
    name::SessionName,
    remedy::{Remedy, UserAction},
    time::Moment,
};

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
            Self::Known(name) => {
                ("choose another name, or use it: ", UserAction::SwitchSession(name.clone()))
            }
            Self::Suspended(name) => ("take it up again: ", UserAction::ResumeSession(name.clone())),
            Self::Active(name) => {
                ("there is nothing to resume; to make it current: ", UserAction::SwitchSession(name.clone()))
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

keywords! {
    /// The state of a session.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SessionState {
        /// Runs may begin and go on in it.
        Active = "active",
        /// It was put aside: nothing begins or goes on in it.
        Suspended = "suspended",
        /// It is over, and its work is done.
        Completed = "completed",
        /// It is over, and its work was given up.
        Failed = "failed",
    }
}

impl SessionState {
    /// True if nothing changes any more.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

/// A session, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionRecord {
    pub name: SessionName,
    pub state: SessionState,
    /// True if runs under way when it is suspended are interrupted, and do not end their steps first.
    #[serde(skip)]
    pub interrupts: bool,
    /// The reason for its state; empty if nobody gave one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time of its beginning.
    pub created: Moment,
    /// The time of the last change of its state.
    pub changed: Moment,
    /// True if what begins in the workspace belongs to it, unless something else is said.
    #[serde(rename = "current")]
    pub is_current: bool,
}

impl SessionRecord {
    /// Begins a session, which is current from now on.
    pub fn begin(name: SessionName, now: Moment) -> Self {
        Self {
            name,
            state: SessionState::Active,
            interrupts: false,
            reason: String::new(),
            created: now,
            changed: now,
            is_current: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SessionRecord, SessionRefusal, SessionState};
    use crate::session::SessionChange::{Complete, Enter, Fail, Resume, Suspend};
    use wf_base::{name::SessionName, time::Moment};

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
