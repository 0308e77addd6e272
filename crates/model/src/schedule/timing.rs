use std::{iter::Peekable, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    CivilDateTime, CronExpression, DstNote, DstPolicy, ScheduleExclusion, ScheduleZone,
    walk::{DueInstant, ScheduleWalk, WallClockTimes},
    zone::{FIRST, LAST},
};
use crate::summary::{RecordView, SummaryBuilder, cron_in_words};
use wf_base::{
    digest::Sha256Digest,
    time::{Moment, format_duration, parse_duration},
};

/// One rule for scheduled times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TimingRule {
    /// Repeatedly.
    Cron {
        expression: CronExpression,
        zone: ScheduleZone,
        /// The policies for clock changes.
        dst: DstPolicy,
    },
    /// Once.
    At {
        civil: CivilDateTime,
        zone: ScheduleZone,
        /// The policies for a clock change at that time.
        dst: DstPolicy,
    },
}

/// A rule in words, with its subject.
fn rule_text(rule: &TimingRule) -> String {
    match rule {
        TimingRule::Cron { expression, zone, dst: _ } => {
            let text = expression.to_string();
            let zone = zone.name();
            match cron_in_words(&text) {
                Some(words) => format!("{words}, {zone} ({text})"),
                None => format!("{text}, {zone}"),
            }
        }
        TimingRule::At { civil, zone, dst: _ } => format!("once, at {civil}, {}", zone.name()),
    }
}

/// The schedule of a goal. JSON round-trips without loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalSchedule {
    /// The rules; an instant is due if any rule says so.
    pub rules: Vec<TimingRule>,
    /// The times when nothing is started, matched in a rule's zone against the time it sets.
    pub exclude: Vec<ScheduleExclusion>,
    /// The goal's zone: that of all times except those of rules, which have their own.
    pub zone: ScheduleZone,
    /// The instant before which nothing is due.
    pub active_from: Option<Moment>,
    /// The instant after which nothing is due.
    pub active_until: Option<Moment>,
    /// The time over which goals due together are spread.
    #[serde(serialize_with = "write_duration", deserialize_with = "read_duration")]
    pub splay: Duration,
}

view! { timing: GoalSchedule in Graph {
    own rules = show_schedule,
    plain zone as "timezone" = zone.name(),
    guard exclude,
    plain active_from = moment_text(*active_from); active_from.is_none(),
    plain active_until = moment_text(*active_until); active_until.is_none(),
    plain splay; splay.is_zero(),
} }

fn moment_text(at: Option<Moment>) -> String {
    at.map_or_else(|| "none".into(), |at| at.to_string())
}

fn show_schedule(rules: &[TimingRule], summary: &mut SummaryBuilder) {
    lines!(summary in Graph { plain "schedule" = &rules.iter().map(rule_text).collect::<Vec<_>>() });
    if let Some(TimingRule::Cron { dst, .. } | TimingRule::At { dst, .. }) = rules.first() {
        summary.below("dst", |summary| dst.view(summary));
    }
}

/// A scheduled time of a goal, on a whole second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    pub at: Moment,
    /// The reason why nothing is started then, in words; none if it is not excluded.
    pub excluded: Option<String>,
    /// The effect of a clock change on it.
    pub note: Option<DstNote>,
    /// The index of the rule that asks for it; of several, the first not excluded.
    pub rule: usize,
}

impl GoalSchedule {
    /// Returns a timing of one rule, without anything else.
    pub fn of(rule: TimingRule) -> Self {
        Self {
            zone: rule.zone().clone(),
            rules: vec![rule],
            exclude: Vec::new(),
            active_from: None,
            active_until: None,
            splay: Duration::ZERO,
        }
    }

    /// Returns the scheduled times after one instant up to and including another: ascending, each
    /// once, excluded ones too. They are found one by one as they are asked for.
    ///
    /// **Invariant:** `slots(a, b)` and then `slots(b, c)` is `slots(a, c)`.
    pub fn slots(&self, after: Moment, until: Moment) -> impl Iterator<Item = Slot> + use<'_> {
        let first = |at: Moment| at.millis().div_euclid(1_000);
        let from = first(after).saturating_add(1);
        let from = self.active_from.map_or(from, |active| {
            from.max(first(Moment::from_millis(active.millis().saturating_sub(1))) + 1)
        });
        let until = self.active_until.map_or(first(until), |active| first(until).min(first(active)));
        let walks = self.rules.iter().map(|rule| rule.walk(&self.exclude, from..until).peekable()).collect();
        MergedWalks { walks }.map(|(rule, due)| Slot {
            at: Moment::from_millis(due.at * 1_000),
            excluded: due.excluded.map(ToString::to_string),
            note: due.note,
            rule,
        })
    }

    /// Returns the zone of a scheduled time: that of its rule.
    pub fn zone_of(&self, slot: &Slot) -> &ScheduleZone {
        self.rules.get(slot.rule).map_or(&self.zone, TimingRule::zone)
    }

    /// Returns the zone of the scheduled time at an instant; that of the goal if there is none.
    pub fn zone_at(&self, at: Moment) -> &ScheduleZone {
        let before = Moment::from_millis(at.millis().saturating_sub(1));
        let slot = self.slots(before, at).next();
        slot.map_or(&self.zone, |slot| self.zone_of(&slot))
    }

    /// Returns the zone of all scheduled times; none if they have several.
    pub fn one_zone(&self) -> Option<&ScheduleZone> {
        let mut zones = self.rules.iter().map(TimingRule::zone);
        let first = zones.next()?;
        zones.all(|zone| zone == first).then_some(first)
    }

    /// Returns the first scheduled time after an instant.
    pub fn next(&self, after: Moment) -> Option<Slot> {
        self.slots(after, Moment::from_millis(i64::MAX)).next()
    }

    /// Returns the last scheduled time before an instant.
    pub fn prev(&self, before: Moment) -> Option<Slot> {
        // Searches ever longer ranges; each covers what the one before has not. They start where
        // scheduled times can be, so that the first match does not yield too many.
        let end = Moment::from_millis(LAST * 1_000 + 999);
        let end = self.active_until.map_or(end, |active| active.min(end));
        let mut until = before.millis().saturating_sub(1).min(end.millis());
        let mut length = 60_000i64;
        while until >= FIRST * 1_000 {
            let after = until.saturating_sub(length);
            let slots = self.slots(Moment::from_millis(after), Moment::from_millis(until));
            if let Some(slot) = slots.last() {
                return Some(slot);
            }
            (until, length) = (after, length.saturating_mul(4));
        }
        None
    }

    /// Returns the delay of a goal after its scheduled times, so goals due together do not
    /// start together: at least zero, less than `splay`, in whole milliseconds. It depends on the
    /// id alone, so it is always the same.
    pub fn offset(&self, goal: &str) -> Duration {
        let splay = self.splay.as_millis();
        // Most goals have none, and the offset is computed at each look.
        if splay == 0 {
            return Duration::ZERO;
        }
        let bytes = *Sha256Digest::of_bytes(goal.as_bytes()).bytes();
        let hash = bytes.iter().take(8).fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        Duration::from_millis(u64::try_from(hash % splay).unwrap_or(0))
    }
}

impl TimingRule {
    pub fn zone(&self) -> &ScheduleZone {
        let (Self::Cron { zone, .. } | Self::At { zone, .. }) = self;
        zone
    }

    fn walk<'a>(
        &'a self,
        exclude: &'a [ScheduleExclusion],
        seconds: std::ops::Range<i64>,
    ) -> ScheduleWalk<'a> {
        let (times, zone, dst) = match self {
            Self::Cron { expression, zone, dst } => (WallClockTimes::Cron(expression), zone, *dst),
            Self::At { civil, zone, dst } => (WallClockTimes::Once(*civil), zone, *dst),
        };
        ScheduleWalk::new(times, &zone.clocks, dst, exclude, seconds)
    }
}

/// Several walks merged into one.
struct MergedWalks<'a> {
    walks: Vec<Peekable<ScheduleWalk<'a>>>,
}

impl<'a> Iterator for MergedWalks<'a> {
    /// A due instant, and the index of the walk that yields it.
    type Item = (usize, DueInstant<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.walks.iter_mut().filter_map(Peekable::peek);
        let first = heads.map(|due| due.at).min()?;
        let mut merged: Option<Self::Item> = None;
        for (rule, walk) in self.walks.iter_mut().enumerate() {
            let Some(due) = walk.next_if(|due| due.at == first) else {
                continue;
            };
            merged = Some(match merged {
                None => (rule, due),
                Some((before, mut merged)) => {
                    let is_excluded = merged.excluded.is_some();
                    let rule = if is_excluded && due.excluded.is_none() { rule } else { before };
                    // A time that is due anyway does not replace a skipped one.
                    merged.note = merged.note.and(due.note);
                    merged.excluded = merged.excluded.filter(|_| due.excluded.is_some());
                    (rule, merged)
                }
            });
        }
        merged
    }
}

fn write_duration<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_duration(*duration))
}

fn read_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(serde::de::Error::custom)
}
