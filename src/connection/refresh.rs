use std::time::Duration;

use crate::time::Moment;

/// How long before its end a token is replaced.
const AHEAD: Duration = Duration::from_mins(10);

/// How long before its end what gets tokens is spoken of.
const SOON: Duration = Duration::from_hours(7 * 24);

/// After how long without use a connection is dormant.
const DORMANT: Duration = Duration::from_hours(30 * 24);

/// What is known of the ends of a connection's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiry {
    /// When the token ends; `None`: never, or nobody knows.
    pub token: Option<Moment>,
    /// When what gets a new one ends.
    pub refresh: Option<Moment>,
    /// When the connection was last used; never: when it was made.
    pub used: Moment,
}

/// Why a token is to be replaced now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It ends within ten minutes, or has ended.
    TokenEnds,
    /// What gets new ones ends within a week, and nobody used the connection for a month: only a
    /// refresh keeps it.
    Dormant,
}

/// What to do about tokens that end (Silas 5.10.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshPlan {
    /// Replace the token now.
    pub now: Option<Why>,
    /// Else look again at this instant.
    pub at: Option<Moment>,
    /// Tell the person that this long from now they must connect it again; zero: they must now.
    pub reconnect: Option<Duration>,
}

/// What to do now. What cannot be refreshed any more is not tried.
pub fn plan(expiry: Expiry, now: Moment) -> RefreshPlan {
    let left = |end: Moment| end.since(now);
    let is_dormant = now.since(expiry.used) >= DORMANT;
    let is_lost = expiry.refresh.is_some_and(|end| end <= now);
    let ends_soon = expiry.refresh.filter(|end| left(*end) <= SOON);
    let token_ends = expiry.token.is_some_and(|end| left(end) <= AHEAD);
    let why = match (token_ends, ends_soon) {
        _ if is_lost => None,
        (true, _) => Some(Why::TokenEnds),
        (false, Some(_)) if is_dormant => Some(Why::Dormant),
        (false, _) => None,
    };
    let early = |end: Moment| {
        let ahead = i64::try_from(AHEAD.as_millis()).unwrap_or(i64::MAX);
        Moment::from_millis(end.millis().saturating_sub(ahead))
    };
    RefreshPlan {
        now: why,
        at: expiry
            .token
            .filter(|_| why.is_none() && !is_lost)
            .map(early),
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
        plan(
            Expiry {
                token,
                refresh,
                used,
            },
            NOW,
        )
    }

    #[test]
    fn the_examples_of_the_source_come_out() {
        // A token of an hour, made now, in use: in fifty minutes, without anybody.
        let hour = of(
            Some(within(Duration::from_hours(1))),
            Some(within(90 * DAY)),
            NOW,
        );
        assert_eq!(hour.at, Some(within(Duration::from_mins(50))));
        assert_eq!((hour.now, hour.reconnect), (None, None));
        // A token that never ends.
        assert_eq!(of(None, None, ago(400 * DAY)), RefreshPlan::default());
        // Dormant for 83 of 90 days: it is kept alive without anybody.
        let dormant = of(None, Some(within(7 * DAY)), ago(83 * DAY));
        assert_eq!((dormant.now, dormant.reconnect), (Some(Why::Dormant), None));
    }

    #[test]
    fn borders_are_where_they_are_said_to_be() {
        let second = Duration::from_secs(1);
        let nearly = Duration::from_secs(DORMANT.as_secs() - 1);
        let token = |end| of(Some(end), None, NOW).now;
        assert_eq!(token(within(AHEAD)), Some(Why::TokenEnds));
        assert_eq!(token(within(AHEAD + second)), None);
        assert_eq!(token(ago(DAY)), Some(Why::TokenEnds));
        let reconnect = |end, used| of(None, Some(end), used).reconnect;
        assert_eq!(reconnect(within(SOON), NOW), Some(SOON));
        assert_eq!(reconnect(within(SOON + second), NOW), None);
        assert_eq!(reconnect(within(SOON), ago(DORMANT)), None);
        assert_eq!(reconnect(within(SOON), ago(nearly)), Some(SOON));
        // Too late: nothing is tried, and the person is told.
        let lost = of(Some(ago(DAY)), Some(ago(second)), ago(90 * DAY));
        assert_eq!(
            (lost.now, lost.at, lost.reconnect),
            (None, None, Some(Duration::ZERO))
        );
    }

    proptest! {
        #[test]
        fn a_plan_is_never_at_odds_with_itself(
            token in prop::option::of(-200_000_000_i64..200_000_000),
            refresh in prop::option::of(-9_000_000_000_i64..9_000_000_000),
            used in 0..9_000_000_000_i64,
        ) {
            let at = |from: i64| Moment::from_millis(NOW.millis() + from);
            let plan = of(token.map(at), refresh.map(at), at(-used));
            prop_assert!(plan.now.is_none() || plan.at.is_none());
            prop_assert!(plan.at.is_none_or(|at| at > NOW));
            prop_assert!(plan.reconnect.is_none_or(|left| left <= SOON));
            if refresh.is_some_and(|end| end <= 0) {
                prop_assert_eq!(plan.now, None);
                prop_assert_eq!(plan.reconnect, Some(Duration::ZERO));
            }
        }
    }
}
