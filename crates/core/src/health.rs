//! The health of what calls go to: models, MCP servers, connections; whatever fails for a while and comes back.
//!
//! One row for each [`CallTarget`] is shared by all processes. A call is admitted by [`TargetHealth::admit`], and its
//! end changes the row by [`TargetHealth::note`]: both are applied where no other process writes meanwhile.
//!
//! **Invariant:** pure; the time is passed in. **Invariant:** whatever a row says, it refuses calls for at most
//! [`TargetHealth::OPEN`] from now.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use wf_base::{
    keywords,
    name::{Name, PlanId},
    time::Moment,
};

keywords! {
    /// The kind of what is called.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum TargetKind {
        /// A model of wf.yaml.
        Model = "model",
        /// An MCP server of wf.yaml.
        McpServer = "mcp_server",
        /// A connection: the service that it is an account at.
        Connection = "connection",
    }
}

impl TargetKind {
    /// Returns it as texts for people name it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::McpServer => "MCP server",
            Self::Connection => "connection",
        }
    }
}

/// Something that is called, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallTarget {
    /// Its kind.
    pub kind: TargetKind,
    /// Its name among its kind.
    pub name: String,
}

impl CallTarget {
    /// Returns a model as a target.
    pub fn model(name: &Name) -> Self {
        Self { kind: TargetKind::Model, name: name.to_string() }
    }

    /// Returns an MCP server as a target.
    pub fn mcp_server(name: &Name) -> Self {
        Self { kind: TargetKind::McpServer, name: name.to_string() }
    }

    /// Returns a connection as a target.
    pub fn connection(name: &PlanId) -> Self {
        Self { kind: TargetKind::Connection, name: name.to_string() }
    }
}

impl std::fmt::Display for CallTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} `{}`", self.kind.label(), self.name)
    }
}

/// The end of a call, as far as it shows how its target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It was answered.
    Success,
    /// The target is there, as a server that has started; how it answers calls is not known yet.
    Contact,
    /// It failed as the next call may fail, too: the target is down, overloaded, or does not answer in time.
    Outage {
        /// The error, without secrets.
        error: String,
    },
    /// The target refused it for a reason that only this call has, which shows that it works.
    Rejection {
        /// The error, without secrets.
        error: String,
    },
}

/// A change of a breaker, which refuses calls of a failing target for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "breaker", rename_all = "snake_case")]
pub enum BreakerChange {
    /// It opened, or was kept open by a failed probe: no calls until then.
    Opened {
        /// The time of the next call.
        until: Moment,
    },
    /// A call succeeded, so it closed.
    Closed,
}

/// A change of the breaker of a target, as the call that caused it records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BreakerNote {
    /// The target.
    #[serde(flatten)]
    pub target: CallTarget,
    /// The change.
    #[serde(flatten)]
    pub change: BreakerChange,
}

impl std::fmt::Display for BreakerNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { target, change } = self;
        match change {
            BreakerChange::Opened { until } => {
                write!(f, "breaker of {target} opened: it is not called until {until}")
            }
            BreakerChange::Closed => write!(f, "breaker of {target} closed: it works again"),
        }
    }
}

/// An open breaker, which refuses a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not called until {until}, after {failures} failures in a row; the last one: {error}")]
pub struct OpenBreaker {
    /// The time of the next call.
    pub until: Moment,
    /// The number of failures in a row.
    pub failures: u32,
    /// The error of the last one.
    pub error: String,
}

/// The maximum number of characters of an error kept.
const ERROR_LIMIT: usize = 300;

/// The last calls of a target, and its breaker, which leaves it alone for a while when it fails.
///
/// The breaker opens after some outages with no answer between them. Once the time is over, one call may probe: while it
/// runs, others are refused; its success closes the breaker. A probe that never ends, since its caller was cancelled,
/// holds the others for as long as a failed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetHealth {
    /// The outages since the last answer.
    pub failures: u32,
    /// The end of the time in which calls are refused; `None`: the breaker is closed.
    pub open_until: Option<Moment>,
    /// The time of the last call that succeeded.
    pub succeeded_at: Option<Moment>,
    /// The time of the last call that failed.
    pub failed_at: Option<Moment>,
    /// The error of that call.
    pub error: String,
}

impl TargetHealth {
    /// The number of outages in a row that open the breaker.
    pub const FAILURES: u32 = 3;
    /// The time for which the breaker is open.
    pub const OPEN: Duration = Duration::from_mins(1);
    /// The time for which a success stands for those following it: a row need not change with every call.
    pub const FRESH: Duration = Duration::from_secs(1);

    /// Decides about a call. The first one after the time of an open breaker is its probe.
    pub fn admit(&mut self, now: Moment) -> Result<(), OpenBreaker> {
        if let Some(until) = self.open_at(now) {
            return Err(OpenBreaker { until, failures: self.failures, error: self.error.clone() });
        }
        if self.open_until.is_some() {
            self.open_until = Some(now.after(Self::OPEN));
        }
        Ok(())
    }

    /// Notes the end of a call. Returns the change of the breaker.
    pub fn note(&mut self, end: &CallEnd, now: Moment) -> Option<BreakerChange> {
        match end {
            CallEnd::Success => {
                if !self.is_fresh(now) {
                    self.succeeded_at = Some(now);
                }
                self.failures = 0;
                self.close()
            }
            // The outages stay: if the next call fails, too, the breaker opens again at once.
            CallEnd::Contact => self.close(),
            CallEnd::Rejection { error } => {
                self.note_failure(error, now);
                self.failures = 0;
                self.close()
            }
            CallEnd::Outage { error } => {
                self.note_failure(error, now);
                self.failures = self.failures.saturating_add(1);
                if self.failures < Self::FAILURES {
                    return None;
                }
                let until = now.after(Self::OPEN);
                self.open_until = Some(until);
                Some(BreakerChange::Opened { until })
            }
        }
    }

    /// Returns the end of the time in which calls are refused, if that is not over. A time that is further away than any
    /// breaker is open was set by another clock, and refuses nothing.
    pub fn open_at(&self, now: Moment) -> Option<Moment> {
        self.open_until.filter(|until| now < *until && *until <= now.after(Self::OPEN))
    }

    fn is_fresh(&self, now: Moment) -> bool {
        self.succeeded_at
            .is_some_and(|at| at <= now && now.since(at) < Self::FRESH && self.failed_at <= Some(at))
    }

    fn note_failure(&mut self, error: &str, now: Moment) {
        self.failed_at = Some(now);
        self.error = error.chars().take(ERROR_LIMIT).collect();
    }

    fn close(&mut self) -> Option<BreakerChange> {
        self.open_until.take().map(|_| BreakerChange::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::{BreakerChange, CallEnd, OpenBreaker, TargetHealth};
    use wf_base::time::Moment;

    fn at(second: i64) -> Moment {
        Moment::from_millis(second * 1_000)
    }

    fn outage() -> CallEnd {
        CallEnd::Outage { error: "busy".into() }
    }

    /// A target whose breaker opened at a second.
    fn failing(second: i64) -> TargetHealth {
        let mut health = TargetHealth::default();
        for _ in 0..TargetHealth::FAILURES {
            health.note(&outage(), at(second));
        }
        health
    }

    #[test]
    fn a_breaker_opens_probes_and_closes() {
        let mut health = TargetHealth::default();
        assert_eq!(health.note(&outage(), at(0)), None);
        assert_eq!(health.note(&outage(), at(1)), None);
        assert_eq!(health.admit(at(2)), Ok(()));
        let opened = Some(BreakerChange::Opened { until: at(62) });
        assert_eq!(health.note(&outage(), at(2)), opened);
        assert_eq!(health.open_at(at(61)), Some(at(62)));
        let refusal = OpenBreaker { until: at(62), failures: 3, error: "busy".into() };
        assert_eq!(health.admit(at(12)), Err(refusal));
        assert_eq!(health.admit(at(62)), Ok(()));
        // The probe holds the others.
        assert_eq!(health.admit(at(63)).unwrap_err().until, at(122));
        // It fails, and the next one succeeds.
        assert_eq!(health.note(&outage(), at(64)), Some(BreakerChange::Opened { until: at(124) }));
        assert_eq!(health.admit(at(124)), Ok(()));
        assert_eq!(health.note(&CallEnd::Success, at(125)), Some(BreakerChange::Closed));
        assert_eq!((health.failures, health.open_at(at(125))), (0, None));
        assert_eq!((health.succeeded_at, health.failed_at), (Some(at(125)), Some(at(64))));
    }

    #[test]
    fn a_rejection_shows_that_the_target_works() {
        let mut health = failing(0);
        let rejection = CallEnd::Rejection { error: "x".repeat(1_000) };
        assert_eq!(health.note(&rejection, at(61)), Some(BreakerChange::Closed));
        assert_eq!((health.failures, health.error.len()), (0, 300));
        health.note(&outage(), at(62));
        assert_eq!(health.admit(at(62)), Ok(()));
    }

    #[test]
    fn contact_lets_calls_pass_until_one_fails() {
        let mut health = failing(0);
        assert_eq!(health.admit(at(60)), Ok(()));
        assert_eq!(health.note(&CallEnd::Contact, at(60)), Some(BreakerChange::Closed));
        assert_eq!(health.admit(at(60)), Ok(()));
        let mut answered = health.clone();
        assert_eq!(health.note(&outage(), at(60)), Some(BreakerChange::Opened { until: at(120) }));
        answered.note(&CallEnd::Success, at(60));
        assert_eq!(answered.note(&outage(), at(61)), None);
    }

    #[test]
    fn no_row_refuses_calls_for_longer_than_a_breaker_is_open() {
        // The clock was set back, or somebody wrote nonsense.
        for until in [at(122), Moment::from_millis(i64::MAX)] {
            let mut health =
                TargetHealth { failures: u32::MAX, open_until: Some(until), ..TargetHealth::default() };
            assert_eq!(health.open_at(at(61)), None);
            assert_eq!(health.admit(at(61)), Ok(()));
            assert_eq!(health.admit(at(62)).unwrap_err().until, at(121));
        }
        let mut health = TargetHealth { failures: u32::MAX, ..TargetHealth::default() };
        assert_eq!(health.note(&outage(), at(0)), Some(BreakerChange::Opened { until: at(60) }));
    }

    #[test]
    fn a_success_right_after_another_changes_nothing() {
        let mut health = TargetHealth::default();
        health.note(&CallEnd::Success, at(5));
        let before = health.clone();
        health.note(&CallEnd::Success, Moment::from_millis(5_999));
        assert_eq!(health, before);
        health.note(&CallEnd::Success, at(6));
        assert_eq!(health.succeeded_at, Some(at(6)));
        // One after a failure is news, and so is one after the clock was set back.
        health.note(&outage(), Moment::from_millis(6_200));
        health.note(&CallEnd::Success, Moment::from_millis(6_400));
        assert_eq!(health.succeeded_at, Some(Moment::from_millis(6_400)));
        health.note(&CallEnd::Success, at(1));
        assert_eq!(health.succeeded_at, Some(at(1)));
    }
}
