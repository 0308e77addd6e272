use std::iter::Peekable;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::walk::{Due, Times, Walk};
use super::zone::{FIRST, LAST};
use super::{Civil, Cron, Dst, DstNote, Exclusion, Zone};
use crate::digest::Digest;
use crate::time::{Moment, format_duration, parse_duration};

/// One rule of when something is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum When {
    /// Again and again.
    Cron {
        /// At which times.
        expression: Cron,
        /// Of which zone.
        zone: Zone,
        /// What happens when clocks are changed.
        dst: Dst,
    },
    /// Once.
    At {
        /// At which time.
        civil: Civil,
        /// Of which zone.
        zone: Zone,
        /// What happens if clocks are changed then.
        dst: Dst,
    },
}

/// When a goal is due. Written as JSON, it is read back as the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// The rules; an instant is due if one of them says so.
    pub rules: Vec<When>,
    /// When nothing is begun: times as the zone of a rule shows them, for what that rule asks for.
    pub exclude: Vec<Exclusion>,
    /// The goal's zone: that of all times but those of rules, which have their own.
    pub zone: Zone,
    /// Nothing is due before this instant.
    pub active_from: Option<Moment>,
    /// Nothing is due after this instant.
    pub active_until: Option<Moment>,
    /// Goals that are due together begin spread over so long.
    #[serde(serialize_with = "write_duration", deserialize_with = "read_duration")]
    pub splay: Duration,
}

/// An instant at which a goal is due, on a whole second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slot {
    /// When.
    pub at: Moment,
    /// Why nothing is begun then, in words; none if something is.
    pub excluded: Option<String>,
    /// What a change of clocks has to do with it.
    pub note: Option<DstNote>,
    /// The place of the rule that asks for it; of several the first that is not excluded.
    pub rule: usize,
}

impl Timing {
    /// A timing of one rule, without anything else.
    pub fn of(rule: When) -> Self {
        Self {
            zone: rule.zone().clone(),
            rules: vec![rule],
            exclude: Vec::new(),
            active_from: None,
            active_until: None,
            splay: Duration::ZERO,
        }
    }

    /// The slots after one instant and up to another, which is included: ascending, each once,
    /// also those that are excluded. They are found one by one as they are asked for.
    ///
    /// **Invariant:** `slots(a, b)` and then `slots(b, c)` is `slots(a, c)`.
    pub fn slots(&self, after: Moment, until: Moment) -> impl Iterator<Item = Slot> + use<'_> {
        let first = |at: Moment| at.millis().div_euclid(1_000);
        let from = first(after).saturating_add(1);
        let from = self.active_from.map_or(from, |active| {
            from.max(first(Moment::from_millis(active.millis().saturating_sub(1))) + 1)
        });
        let until = self
            .active_until
            .map_or(first(until), |active| first(until).min(first(active)));
        let walks = self
            .rules
            .iter()
            .map(|rule| rule.walk(&self.exclude, from..until).peekable())
            .collect();
        Merge { walks }.map(|(rule, due)| Slot {
            at: Moment::from_millis(due.at * 1_000),
            excluded: due.excluded.map(ToString::to_string),
            note: due.note,
            rule,
        })
    }

    /// The zone of a slot: that of its rule.
    pub fn zone_of(&self, slot: &Slot) -> &Zone {
        self.rules.get(slot.rule).map_or(&self.zone, When::zone)
    }

    /// The zone of the slot at an instant; that of the goal if there is none.
    pub fn zone_at(&self, at: Moment) -> &Zone {
        let before = Moment::from_millis(at.millis().saturating_sub(1));
        let slot = self.slots(before, at).next();
        slot.map_or(&self.zone, |slot| self.zone_of(&slot))
    }

    /// The zone of all slots; none if they are of several.
    pub fn one_zone(&self) -> Option<&Zone> {
        let mut zones = self.rules.iter().map(When::zone);
        let first = zones.next()?;
        zones.all(|zone| zone == first).then_some(first)
    }

    /// The first slot after an instant.
    pub fn next(&self, after: Moment) -> Option<Slot> {
        self.slots(after, Moment::from_millis(i64::MAX)).next()
    }

    /// The last slot before an instant.
    pub fn prev(&self, before: Moment) -> Option<Slot> {
        // Ever longer looks back; each is about what the one before has not seen. They begin where
        // slots can be, so that the first that finds any does not find very many.
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

    /// How long after its slots a goal begins, so that goals that are due together do not begin
    /// together: at least zero, less than `splay`, in whole milliseconds. It depends on the id
    /// alone, so it is always the same.
    pub fn offset(&self, goal: &str) -> Duration {
        let splay = self.splay.as_millis();
        // Most goals have none, and a goal is asked for its offset at each look.
        if splay == 0 {
            return Duration::ZERO;
        }
        let bytes = *Digest::of(goal.as_bytes()).bytes();
        let hash = bytes
            .iter()
            .take(8)
            .fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        Duration::from_millis(u64::try_from(hash % splay).unwrap_or(0))
    }
}

impl When {
    /// Its zone.
    pub fn zone(&self) -> &Zone {
        let (Self::Cron { zone, .. } | Self::At { zone, .. }) = self;
        zone
    }

    fn walk<'a>(&'a self, exclude: &'a [Exclusion], seconds: std::ops::Range<i64>) -> Walk<'a> {
        let (times, zone, dst) = match self {
            Self::Cron {
                expression,
                zone,
                dst,
            } => (Times::Cron(expression), zone, *dst),
            Self::At { civil, zone, dst } => (Times::Once(*civil), zone, *dst),
        };
        Walk::new(times, (zone, dst), exclude, seconds)
    }
}

/// Several walks as one.
struct Merge<'a> {
    walks: Vec<Peekable<Walk<'a>>>,
}

impl<'a> Iterator for Merge<'a> {
    /// What is due, and the place of the walk that says so.
    type Item = (usize, Due<'a>);

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
                    let rule = if is_excluded && due.excluded.is_none() {
                        rule
                    } else {
                        before
                    };
                    // What is due anyway is not there for what was passed over.
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
