//! What many runs of one strategy in the worlds of one plant came to.

use std::collections::BTreeMap;

use super::Told;

/// What many runs came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    pub runs: u32,
    pub verified: u32,
    /// How many ended well though some step did not do what it was asked to.
    pub accepted: u32,
    /// The attempts of each run that was verified.
    attempts: Vec<i64>,
    /// The milliseconds of each run that was verified.
    duration_ms: Vec<i64>,
    /// The attempts of all runs that were not.
    vain: i64,
    /// The milliseconds of all runs that were not.
    vain_millis: i64,
    /// How often the runs ended in which way.
    pub ends: BTreeMap<String, u32>,
}

impl Score {
    /// Counts a run.
    pub fn add(&mut self, told: &Told) {
        self.runs += 1;
        self.accepted += u32::from(told.accepted);
        let attempts = i64::from(told.all());
        if told.verified {
            self.verified += 1;
            self.attempts.push(attempts);
            self.duration_ms.push(told.duration_ms);
        } else {
            self.vain += attempts;
            self.vain_millis += told.duration_ms;
        }
        let end = if told.verified { "verified" } else { "in vain" };
        let end = format!("{end}: {}", told.end);
        *self.ends.entry(end).or_default() += 1;
    }

    /// The part of the runs that was verified.
    pub fn share(&self) -> f64 {
        f64::from(self.verified) / f64::from(self.runs.max(1))
    }

    /// How many attempts a part of the verified runs needed at most; `None` if none was.
    pub fn attempts(&self, part: f64) -> Option<i64> {
        quantile(&self.attempts, part)
    }

    /// How many seconds a part of the verified runs took at most; `None` if none was.
    pub fn seconds(&self, part: f64) -> Option<f64> {
        Some(thousandth(quantile(&self.duration_ms, part)?))
    }

    /// The attempts, and the seconds, of a run that was not verified, in the mean.
    pub fn vain(&self) -> Option<(f64, f64)> {
        let runs = f64::from(self.runs - self.verified);
        let mean = |sum: i64| thousandth(sum) * 1_000.0 / runs;
        (runs > 0.0).then(|| (mean(self.vain), mean(self.vain_millis) / 1_000.0))
    }

    /// The attempts of a run in the mean, however it ended.
    pub fn mean_attempts(&self) -> f64 {
        let all: i64 = self.attempts.iter().sum::<i64>() + self.vain;
        thousandth(all) * 1_000.0 / f64::from(self.runs.max(1))
    }
}

/// The nearest rank.
fn quantile(of: &[i64], part: f64) -> Option<i64> {
    let mut sorted = of.to_vec();
    sorted.sort_unstable();
    let wanted = part * f64::from(u32::try_from(sorted.len()).ok()?);
    let below = (1_u32..).take(sorted.len());
    let rank = below.take_while(|rank| f64::from(*rank) < wanted).count();
    sorted.get(rank).copied()
}

fn thousandth(number: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "sums of some thousand runs")]
    let number = number as f64;
    number / 1_000.0
}
