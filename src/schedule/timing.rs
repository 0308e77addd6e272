use std::iter::Peekable;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::walk::{Times, Walk};
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
    /// When nothing is begun, in `zone`.
    pub exclude: Vec<Exclusion>,
    /// The goal's zone.
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
}

impl Timing {
    /// A timing of one rule, without anything else.
    pub fn of(rule: When) -> Self {
        let (When::Cron { zone, .. } | When::At { zone, .. }) = &rule;
        Self {
            zone: zone.clone(),
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
            .map(|rule| rule.walk(from..until).peekable())
            .collect();
        Merge { walks }.map(|(seconds, note)| self.slot(seconds, note))
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
        let bytes = *Digest::of(goal.as_bytes()).bytes();
        let hash = bytes
            .iter()
            .take(8)
            .fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        let offset = hash.checked_rem(splay).unwrap_or(0);
        Duration::from_millis(u64::try_from(offset).unwrap_or(0))
    }

    fn slot(&self, seconds: i64, note: Option<DstNote>) -> Slot {
        let at = Moment::from_millis(seconds * 1_000);
        let excluded = if self.exclude.is_empty() {
            None
        } else {
            let civil = self.zone.local(at).civil;
            let why = self
                .exclude
                .iter()
                .find(|exclusion| exclusion.covers(civil));
            why.map(ToString::to_string)
        };
        Slot { at, excluded, note }
    }
}

impl When {
    fn walk(&self, seconds: std::ops::Range<i64>) -> Walk<'_> {
        match self {
            Self::Cron {
                expression,
                zone,
                dst,
            } => Walk::new(Times::Cron(expression), zone, *dst, seconds),
            Self::At { civil, zone, dst } => Walk::new(Times::Once(*civil), zone, *dst, seconds),
        }
    }
}

/// Several walks as one.
struct Merge<'a> {
    walks: Vec<Peekable<Walk<'a>>>,
}

impl Iterator for Merge<'_> {
    type Item = (i64, Option<DstNote>);

    fn next(&mut self) -> Option<Self::Item> {
        let heads = self.walks.iter_mut().filter_map(Peekable::peek);
        let (first, mut note) = *heads.min_by_key(|(at, _)| *at)?;
        for walk in &mut self.walks {
            if let Some((_, other)) = walk.next_if(|(at, _)| *at == first) {
                // What is due anyway is not there for what was passed over.
                note = note.and(other);
            }
        }
        Some((first, note))
    }
}

fn write_duration<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format_duration(*duration))
}

fn read_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(serde::de::Error::custom)
}
