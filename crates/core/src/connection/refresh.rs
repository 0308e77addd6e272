use std::time::Duration;

use wf_base::time::Moment;

/// The time before its expiry at which a token is replaced.
const AHEAD: Duration = Duration::from_mins(10);

/// The time before its expiry at which the user is warned about a refresh token.
const SOON: Duration = Duration::from_hours(7 * 24);

/// The time without use after which a connection is dormant.
const DORMANT: Duration = Duration::from_hours(30 * 24);

/// The known expiry times of a connection's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenExpiry {
    /// The expiry of the token; `None`: never, or unknown.
    pub token: Option<Moment>,
    pub refresh: Option<Moment>,
    /// The last use of the connection, or its creation if it was never used.
    pub used: Moment,
}

/// The reason why a token is to be replaced now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefreshReason {
    /// The token expires within ten minutes, or has expired.
    TokenEnds,
    /// The refresh token expires within a week, and the connection was not used for a month: only a
    /// refresh keeps it.
    Dormant,
}

/// The plan for tokens that expire (Silas 5.10.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshPlan {
    /// The reason to replace the token now.
    pub reason: Option<RefreshReason>,
    /// The instant of the next look, if it is not replaced now.
    pub at: Option<Moment>,
    /// The time after which the user must reconnect, to be reported; zero: now.
    pub reconnect: Option<Duration>,
}

/// Returns the plan for now. Tokens that can no longer be refreshed are not tried.
pub fn plan(expiry: TokenExpiry, now: Moment) -> RefreshPlan {
    let left = |end: Moment| end.since(now);
    let is_dormant = now.since(expiry.used) >= DORMANT;
    let is_lost = expiry.refresh.is_some_and(|end| end <= now);
    let ends_soon = expiry.refresh.filter(|end| left(*end) <= SOON);
    let token_ends = expiry.token.is_some_and(|end| left(end) <= AHEAD);
    let reason = match (token_ends, ends_soon) {
        _ if is_lost => None,
        (true, _) => Some(RefreshReason::TokenEnds),
        (false, Some(_)) if is_dormant => Some(RefreshReason::Dormant),
        (false, _) => None,
    };
    let early = |end: Moment| {
        let ahead = i64::try_from(AHEAD.as_millis()).unwrap_or(i64::MAX);
        Moment::from_millis(end.millis().saturating_sub(ahead))
    };
    RefreshPlan {
        reason,
        at: expiry.token.filter(|_| reason.is_none() && !is_lost).map(early),
        reconnect: ends_soon.filter(|_| is_lost || !is_dormant).map(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Moment = Moment::from_millis(1_800_000_000_000);

    fn within(wait: Duration) -> Moment {
        NOW.after(wait)
    }

    fn ago(wait: Duration) -> Moment {
        Moment::from_millis(NOW.millis() - i64::try_from(wait.as_millis()).unwrap())
    }

    const DAY: Duration = Duration::from_hours(24);

    fn of(token: Option<Moment>, refresh: Option<Moment>, used: Moment) -> RefreshPlan {
        plan(TokenExpiry { token, refresh, used }, NOW)
    }

    #[test]
    fn the_examples_of_the_source_come_out() {
        // A token of an hour, made now, in use: in fifty minutes, without the user.
        let hour = of(Some(within(Duration::from_hours(1))), Some(within(90 * DAY)), NOW);
        assert_eq!(hour.at, Some(within(Duration::from_mins(50))));
        assert_eq!((hour.reason, hour.reconnect), (None, None));
        // A token that never ends.
        assert_eq!(of(None, None, ago(400 * DAY)), RefreshPlan::default());
        // Dormant for 83 of 90 days: it is kept alive without the user.
        let dormant = of(None, Some(within(7 * DAY)), ago(83 * DAY));
        assert_eq!((dormant.reason, dormant.reconnect), (Some(RefreshReason::Dormant), None));
    }

    #[test]
    fn borders_are_where_they_are_said_to_be() {
        let second = Duration::from_secs(1);
        let nearly = Duration::from_secs(DORMANT.as_secs() - 1);
        let token = |end| of(Some(end), None, NOW).reason;
        assert_eq!(token(within(AHEAD)), Some(RefreshReason::TokenEnds));
        assert_eq!(token(within(AHEAD + second)), None);
        assert_eq!(token(ago(DAY)), Some(RefreshReason::TokenEnds));
        let reconnect = |end, used| of(None, Some(end), used).reconnect;
        assert_eq!(reconnect(within(SOON), NOW), Some(SOON));
        assert_eq!(reconnect(within(SOON + second), NOW), None);
        assert_eq!(reconnect(within(SOON), ago(DORMANT)), None);
        assert_eq!(reconnect(within(SOON), ago(nearly)), Some(SOON));
        // Too late: nothing is tried, and the user is told.
        let lost = of(Some(ago(DAY)), Some(ago(second)), ago(90 * DAY));
        assert_eq!((lost.reason, lost.at, lost.reconnect), (None, None, Some(Duration::ZERO)));
    }

    proptest! {
        #[test]
        fn a_plan_is_never_at_odds_with_itself(
            token in prop::option::of(-200_000_000_i64..200_000_000),
            refresh in prop::option::of(-9_000_000_000_i64..9_000_000_000),
            used in 0..9_000_000_000_i64) {
            let at = |from: i64| Moment::from_millis(NOW.millis() + from);
            let plan = of(token.map(at), refresh.map(at), at(-used));
            prop_assert!(plan.reason.is_none() || plan.at.is_none());
            prop_assert!(plan.at.is_none_or(|at| at > NOW));
            prop_assert!(plan.reconnect.is_none_or(|left| left <= SOON));
            if refresh.is_some_and(|end| end <= 0) {
                prop_assert_eq!(plan.reason, None);
                prop_assert_eq!(plan.reconnect, Some(Duration::ZERO));
            }
        }
    }
}
