use std::time::Duration;

use super::known::instant_before;
use wf_base::time::Moment;

/// The withdrawal of a goal's standing approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalWithdrawal {
    pub nonce: String,
    pub at: Moment,
}

/// Returns the time an approval of a goal was withdrawn, if it was.
///
/// A withdrawal applies to the approval of that time, and to every one signed before: an older one
/// that is put back in its place grants nothing either. A withdrawal that is ahead of the clock by
/// more than `skew`, because the clock was wrong, applies to its own approval alone.
pub fn withdrawn_at(
    withdrawals: &[ApprovalWithdrawal],
    nonce: &str,
    issued: Moment,
    now: Moment,
    skew: Duration,
) -> Option<Moment> {
    let is_of = |withdrawal: &&ApprovalWithdrawal| {
        withdrawal.nonce == nonce || (issued <= withdrawal.at && instant_before(withdrawal.at, skew) <= now)
    };
    withdrawals.iter().filter(is_of).map(|one| one.at).min()
}

#[cfg(test)]
mod tests {
    use super::{ApprovalWithdrawal, withdrawn_at};
    use std::time::Duration;
    use wf_base::time::Moment;

    #[test]
    fn what_was_there_and_what_was_before_is_withdrawn() {
        let at = Moment::from_millis;
        let withdrawals = [ApprovalWithdrawal { nonce: "a".into(), at: at(1000) }];
        let skew = Duration::from_millis(10);
        let when = |nonce, issued, now| withdrawn_at(&withdrawals, nonce, at(issued), at(now), skew);
        let taken = Some(at(1000));
        assert_eq!(when("a", 900, 2000), taken, "the one that was there");
        assert_eq!(when("a", 1005, 2000), taken, "signed by a clock that was ahead");
        assert_eq!(when("b", 900, 2000), taken, "an older one");
        assert_eq!(when("b", 1000, 2000), taken, "one of the same moment");
        assert_eq!(when("b", 1001, 2000), None, "a newer one");
        assert_eq!(when("b", 500, 989), None, "the clock was wrong then");
        assert_eq!(when("b", 500, 990), taken, "it was hardly wrong");
        assert_eq!(when("a", 500, 600), taken);
        assert_eq!(withdrawn_at(&[], "a", at(0), at(1), skew), None);
    }
}
