use std::str::FromStr;

use super::ast::{Exclude, Goal, HoursRule, ScheduleRule, When as Written};
use super::part;
use crate::diag::{Code, Diagnostic};
use crate::schedule::{
    Civil, ClockTime, Cron, Date, Dst, Exclusion, Fold, Gap, Timing, Weekday, When, Zone,
};
use crate::source::{Source, Span, Spanned};
use crate::time::{Moment, format_duration};

/// How many distances of slots are looked at for the shortest.
const SOME: usize = 2_000;
/// The beginning of 2026, from which on they are looked at if a goal does not say when it begins.
const USUAL: Moment = Moment::from_millis(1_767_225_600_000);

/// When a goal is due, with everything that is wrong with its times; `None` if there is an error
/// among that. `source` is the file of the goal.
pub fn timing(goal: &Goal, source: &Source) -> (Option<Timing>, Vec<Diagnostic>) {
    let mut reader = Reader {
        source,
        wrong: Vec::new(),
    };
    let timing = reader.timing(goal);
    let Some(timing) = timing.filter(|_| reader.wrong.is_empty()) else {
        return (None, reader.wrong);
    };
    if let Some(never) = never_due(goal, &timing) {
        return (None, vec![never]);
    }
    let warnings = wide_splay(goal, &timing).into_iter().collect();
    (Some(timing), warnings)
}

struct Reader<'s> {
    source: &'s Source,
    wrong: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn timing(&mut self, goal: &Goal) -> Option<Timing> {
        let zone = match &goal.timezone {
            Some(name) => self.zone(name),
            None => Some(Zone::utc()),
        };
        let said = goal.dst.as_ref();
        let dst = Dst {
            gap: said.and_then(|dst| dst.gap).unwrap_or_default(),
            overlap: said.and_then(|dst| dst.overlap).unwrap_or_default(),
        };
        let written = goal.schedule.iter().flat_map(|rules| &rules.value.0);
        let mut rules = Vec::new();
        for rule in written {
            rules.extend(self.rule(rule, zone.as_ref(), dst));
        }
        let mut exclude = Vec::new();
        for written in &goal.exclude {
            exclude.extend(self.exclusion(written));
        }
        let zone = zone?;
        let (from, until) = (&goal.active_from, &goal.active_until);
        let active_from = from
            .as_ref()
            .and_then(|text| self.bound(text, &zone, false));
        let active_until = until
            .as_ref()
            .and_then(|text| self.bound(text, &zone, true));
        if let (Some(first), Some(last), Some(text)) = (active_from, active_until, until)
            && last < first
        {
            let message = "the goal ends before it begins";
            self.bad(
                text.span,
                message,
                "`active_until` comes after `active_from`",
            );
        }
        // Without a rule, something was wrong, and has been said where it stands.
        (!rules.is_empty()).then(|| Timing {
            rules,
            exclude,
            zone,
            active_from,
            active_until,
            splay: goal
                .splay
                .as_ref()
                .map(|time| time.value.0)
                .unwrap_or_default(),
        })
    }

    fn bad(&mut self, at: Span, message: impl Into<String>, help: &str) {
        let mistake = Diagnostic::new(Code::TimeInvalid, at, message);
        self.wrong.push(mistake.help(help));
    }

    fn zone(&mut self, name: &Spanned<String>) -> Option<Zone> {
        let found = Zone::parse(&name.value);
        let bad = match found {
            Ok(zone) => return Some(zone),
            Err(bad) => bad,
        };
        let mistake = Diagnostic::new(Code::UnknownZone, name.span, bad.to_string());
        self.wrong.push(match &bad.nearest {
            Some(near) => mistake.meant(Some(near)),
            None => mistake.help("write the name of the IANA database, for example Europe/Berlin"),
        });
        None
    }

    /// A rule; one without a zone of its own is of the goal's.
    fn rule(&mut self, rule: &ScheduleRule, zone: Option<&Zone>, dst: Dst) -> Option<When> {
        let own = rule.timezone.as_ref().map(|name| self.zone(name));
        let zone = own.unwrap_or_else(|| zone.cloned());
        match &rule.when {
            Written::Cron(text) => {
                let expression = self.cron(text);
                let (expression, zone) = (expression?, zone?);
                Some(When::Cron {
                    expression,
                    zone,
                    dst,
                })
            }
            Written::At(text) => {
                let civil = self.civil(text);
                let (civil, zone) = (civil?, zone?);
                Some(When::At { civil, zone, dst })
            }
        }
    }

    fn cron(&mut self, text: &Spanned<String>) -> Option<Cron> {
        let bad = match Cron::parse(&text.value) {
            Ok(cron) => return Some(cron),
            Err(bad) => bad,
        };
        let at = part(self.source, text, bad.at);
        let mistake = Diagnostic::new(Code::ScheduleInvalid, at, bad.message);
        self.wrong.push(match bad.remedy {
            Some(remedy) => mistake.help(remedy),
            None => mistake,
        });
        None
    }

    /// A time that comes once.
    fn civil(&mut self, text: &Spanned<String>) -> Option<Civil> {
        if let Ok(civil) = text.value.parse() {
            return Some(civil);
        }
        let help = if text.value.parse::<Date>().is_ok() {
            format!("say the time: {}T00:00", text.value)
        } else if Moment::parse(&text.value).is_ok() {
            "leave the offset out: `timezone` says the zone".to_owned()
        } else {
            "write a day that exists and a time, like 2026-12-01T09:00".to_owned()
        };
        let message = format!("`{}` is not a time", text.value);
        self.bad(text.span, message, &help);
        None
    }

    /// The first or the last instant at which the goal may be due.
    fn bound(&mut self, text: &Spanned<String>, zone: &Zone, is_end: bool) -> Option<Moment> {
        let written = text.value.as_str();
        if let Ok(moment) = Moment::parse(written) {
            return Some(moment);
        }
        let time = if is_end { "23:59:59" } else { "00:00" };
        let civil: Option<Civil> = match written.parse::<Date>() {
            Ok(_) => format!("{written}T{time}").parse().ok(),
            Err(_) => written.parse().ok(),
        };
        let found = civil.and_then(|civil| instant(civil, zone, is_end));
        if found.is_none() {
            let message = format!("`{written}` is neither a day nor a time");
            let help = "write a day that exists, like 2026-12-01, 2026-12-01T09:00 in the goal's \
                        zone, or an instant like 2026-12-01T09:00:00Z";
            self.bad(text.span, message, help);
        }
        found
    }

    fn exclusion(&mut self, written: &Exclude) -> Option<Exclusion> {
        let text = match written {
            Exclude::Hours(hours) => return self.hours(hours),
            Exclude::Days(text) => text,
        };
        let Some((first, last)) = text.value.split_once("..") else {
            return self.day(text, &text.value, 0).map(Exclusion::Date);
        };
        let from = self.day(text, first, 0);
        let until = self.day(text, last, first.len() + 2);
        let (from, until) = (from?, until?);
        if until < from {
            let help = format!("write {last}..{first}");
            self.bad(text.span, "the range ends before it begins", &help);
        }
        Some(Exclusion::Dates { from, until })
    }

    /// A day that stands in a text from a byte on.
    fn day(&mut self, text: &Spanned<String>, day: &str, at: usize) -> Option<Date> {
        let found = day.parse().ok();
        if found.is_none() {
            let span = part(self.source, text, at..at + day.len());
            let message = format!("`{day}` is not a day");
            let help = "write a day that exists, like 2026-12-25, or a range of days, like \
                        2026-12-24..2027-01-02";
            self.bad(span, message, help);
        }
        found
    }

    fn hours(&mut self, hours: &HoursRule) -> Option<Exclusion> {
        let from: Option<ClockTime> = self.clock(&hours.from);
        let until: Option<ClockTime> = self.clock(&hours.until);
        let (from, until) = (from?, until?);
        let at = hours.until.span;
        let midnight = ClockTime::from_str("24:00").ok();
        if Some(from) == midnight {
            let message = "24:00 only ends a day";
            self.bad(hours.from.span, message, "write 00:00");
        } else if from == until {
            let help = "whole days are from 00:00 until 24:00";
            self.bad(at, "this ends when it begins", help);
        } else if ClockTime::from_str("00:00").ok() == Some(from)
            && Some(until) == midnight
            && Weekday::ALL
                .iter()
                .all(|day| hours.on.is_empty() || hours.on.iter().any(|on| on.value == *day))
        {
            let help = "remove it, or say on which days: `on: [SAT, SUN]`";
            self.bad(at, "this excludes every time of every day", help);
        }
        let on = hours.on.iter().map(|day| day.value).collect();
        Some(Exclusion::Daily { from, until, on })
    }

    fn clock(&mut self, text: &Spanned<String>) -> Option<ClockTime> {
        let found = text.value.parse().ok();
        if found.is_none() {
            let message = format!("`{}` is not a time of day", text.value);
            self.bad(text.span, message, "write 00:00 to 24:00, like 22:00");
        }
        found
    }
}

/// When clocks of a zone show a time: one that they never show is when they pass over it; of two,
/// it is the last if it ends something.
fn instant(civil: Civil, zone: &Zone, is_end: bool) -> Option<Moment> {
    let dst = Dst {
        gap: Gap::RunAtTransition,
        overlap: if is_end { Fold::Last } else { Fold::First },
    };
    let zone = zone.clone();
    let once = Timing::of(When::At { civil, zone, dst });
    Some(once.next(Moment::from_millis(i64::MIN))?.at)
}

/// The mistake of a goal without any slot that is not excluded.
fn never_due(goal: &Goal, timing: &Timing) -> Option<Diagnostic> {
    if timing.free().is_some() {
        return None;
    }
    let at = goal.schedule.as_ref()?.span;
    if timing.next(Moment::from_millis(i64::MIN)).is_none() {
        let message = "the goal is never due";
        let help = "look at `active_from`, `active_until` and `dst`";
        return Some(Diagnostic::new(Code::NeverDue, at, message).help(help));
    }
    let message = "the goal is never due: all that its schedule says is excluded";
    let mistake = Diagnostic::new(Code::NeverDue, at, message);
    Some(mistake.help("look at `exclude`"))
}

/// The warning of a goal that may begin after its next slot.
fn wide_splay(goal: &Goal, timing: &Timing) -> Option<Diagnostic> {
    let splay = goal.splay.as_ref()?;
    let from = timing.active_from.unwrap_or(USUAL);
    let from = Moment::from_millis(from.millis().saturating_sub(1));
    let slots = || timing.slots(from, Moment::from_millis(i64::MAX)).take(SOME);
    let pairs = slots().zip(slots().skip(1));
    let shortest = pairs.map(|(one, next)| next.at.since(one.at)).min()?;
    if splay.value.0 <= shortest {
        return None;
    }
    let between = format_duration(shortest);
    let message = format!("some slots are {between} from each other, which is less than this");
    let mistake = Diagnostic::new(Code::SplayWide, splay.span, message);
    Some(mistake.help(format!("write at most `splay: {between}`")))
}

#[cfg(test)]
mod tests;
