use std::time::Duration;

use super::known::before;
use crate::time::Moment;

/// Somebody took back what a goal may do by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withdrawal {
    /// The approval that was there, by its nonce.
    pub nonce: String,
    /// When.
    pub at: Moment,
}

/// When an approval of a goal was withdrawn, if it was.
///
/// That is the approval which was there then, and every one that was signed before: an older one
/// that is put back in its place allows nothing either. A withdrawal that lies ahead of the clock
/// by more than `skew`, because that was wrong once, counts for its own approval alone.
pub fn withdrawn(
    withdrawals: &[Withdrawal],
    (nonce, issued): (&str, Moment),
    (now, skew): (Moment, Duration),
) -> Option<Moment> {
    let is_of =
        |one: &&Withdrawal| one.nonce == nonce || (issued <= one.at && before(one.at, skew) <= now);
    withdrawals.iter().filter(is_of).map(|one| one.at).min()
}

#[cfg(test)]
mod tests {
    use super::{Withdrawal, withdrawn};
    use crate::time::Moment;
    use std::time::Duration;

    #[test]
    fn what_was_there_and_what_was_before_is_withdrawn() {
        let at = Moment::from_millis;
        let withdrawals = [Withdrawal {
            nonce: "a".into(),
            at: at(1000),
        }];
        let skew = Duration::from_millis(10);
        let when =
            |nonce, issued, now| withdrawn(&withdrawals, (nonce, at(issued)), (at(now), skew));
        let taken = Some(at(1000));
        assert_eq!(when("a", 900, 2000), taken, "the one that was there");
        assert_eq!(
            when("a", 1005, 2000),
            taken,
            "signed by a clock that was ahead"
        );
        assert_eq!(when("b", 900, 2000), taken, "an older one");
        assert_eq!(when("b", 1000, 2000), taken, "one of the same moment");
        assert_eq!(when("b", 1001, 2000), None, "a newer one");
        assert_eq!(when("b", 500, 989), None, "the clock was wrong then");
        assert_eq!(when("b", 500, 990), taken, "it was hardly wrong");
        assert_eq!(when("a", 500, 600), taken);
        assert_eq!(withdrawn(&[], ("a", at(0)), (at(1), skew)), None);
    }
}
