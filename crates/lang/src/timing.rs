use std::str::FromStr;

use super::{
    ast::{ExclusionSpec, GoalSpec, HoursExclusionSpec, RuleTimeSpec as Written, ScheduleRuleSpec},
    part,
};
use wf_base::{
    diag::{Code, Diagnostic},
    keyword::Keyword,
    source::{SourceText, Span, Spanned},
    time::{Moment, format_duration},
};
use wf_model::schedule::{
    CivilDate, CivilDateTime, ClockTime, CronExpression, DstGapPolicy, DstOverlapPolicy, DstPolicy,
    GoalSchedule, ScheduleExclusion, ScheduleZone, TimingRule, Weekday,
};

/// The maximum number of distances between scheduled times searched for the shortest.
const SOME: usize = 2_000;
/// The beginning of 2026, from which they are searched unless the goal has a start of its own.
const USUAL: Moment = Moment::from_millis(1_767_225_600_000);

/// Returns the schedule of a goal, and the mistakes in its times; `None` if there is an error among
/// them. `source` is the file of the goal.
pub fn timing(goal: &GoalSpec, source: &SourceText) -> (Option<GoalSchedule>, Vec<Diagnostic>) {
    let mut reader = TimingReader { source, diagnostics: Vec::new() };
    let timing = reader.timing(goal);
    let Some(timing) = timing.filter(|_| reader.diagnostics.is_empty()) else {
        return (None, reader.diagnostics);
    };
    if let Some(never) = never_due(goal, &timing) {
        return (None, vec![never]);
    }
    let warnings = wide_splay(goal, &timing).into_iter().collect();
    (Some(timing), warnings)
}

struct TimingReader<'s> {
    source: &'s SourceText,
    diagnostics: Vec<Diagnostic>,
}

impl TimingReader<'_> {
    fn timing(&mut self, goal: &GoalSpec) -> Option<GoalSchedule> {
        let zone = match &goal.timezone {
            Some(name) => self.zone(name),
            None => Some(ScheduleZone::utc()),
        };
        let dst_spec = goal.dst.as_ref();
        let dst = DstPolicy {
            gap: dst_spec.and_then(|dst| dst.gap).unwrap_or_default(),
            overlap: dst_spec.and_then(|dst| dst.overlap).unwrap_or_default(),
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
        let active_from = from.as_ref().and_then(|text| self.bound(text, &zone, false));
        let active_until = until.as_ref().and_then(|text| self.bound(text, &zone, true));
        if let (Some(first), Some(last), Some(text)) = (active_from, active_until, until)
            && last < first
        {
            let message = "the goal ends before it starts";
            self.bad(text.span, message, "`active_until` must be after `active_from`");
        }
        // Without a rule, there was a mistake, and it has been reported at its location.
        (!rules.is_empty()).then(|| GoalSchedule {
            rules,
            exclude,
            zone,
            active_from,
            active_until,
            splay: goal.splay.as_ref().map(|time| time.value.0).unwrap_or_default(),
        })
    }

    fn bad(&mut self, at: Span, message: impl Into<String>, help: &str) {
        let mistake = Diagnostic::new(Code::TimeInvalid, at, message);
        self.diagnostics.push(mistake.with_help(help));
    }

    fn zone(&mut self, name: &Spanned<String>) -> Option<ScheduleZone> {
        let parsed = ScheduleZone::parse(&name.value);
        let bad = match parsed {
            Ok(zone) => return Some(zone),
            Err(bad) => bad,
        };
        let mistake = Diagnostic::new(Code::UnknownZone, name.span, bad.to_string());
        self.diagnostics.push(match &bad.nearest {
            Some(near) => mistake.with_suggestion(Some(near)),
            None => mistake.with_help("use a name from the IANA database, for example Europe/Berlin"),
        });
        None
    }

    /// Reads a rule; one without a zone of its own has the goal's.
    fn rule(
        &mut self,
        rule: &ScheduleRuleSpec,
        zone: Option<&ScheduleZone>,
        dst: DstPolicy,
    ) -> Option<TimingRule> {
        let own = rule.timezone.as_ref().map(|name| self.zone(name));
        let zone = own.unwrap_or_else(|| zone.cloned());
        match &rule.when {
            Written::Cron(text) => {
                let expression = self.cron(text);
                let (expression, zone) = (expression?, zone?);
                Some(TimingRule::Cron { expression, zone, dst })
            }
            Written::At(text) => {
                let civil = self.civil(text);
                let (civil, zone) = (civil?, zone?);
                Some(TimingRule::At { civil, zone, dst })
            }
        }
    }

    fn cron(&mut self, text: &Spanned<String>) -> Option<CronExpression> {
        let bad = match CronExpression::parse(&text.value) {
            Ok(cron) => return Some(cron),
            Err(bad) => bad,
        };
        let at = part(self.source, text, bad.at);
        let mistake = Diagnostic::new(Code::ScheduleInvalid, at, bad.message);
        self.diagnostics.push(match bad.remedy {
            Some(remedy) => mistake.with_help(remedy),
            None => mistake,
        });
        None
    }

    /// Reads a single time.
    fn civil(&mut self, text: &Spanned<String>) -> Option<CivilDateTime> {
        if let Ok(civil) = text.value.parse() {
            return Some(civil);
        }
        let help = if text.value.parse::<CivilDate>().is_ok() {
            format!("add the time: {}T00:00", text.value)
        } else if Moment::parse(&text.value).is_ok() {
            "remove the offset: the zone is set by `timezone`".to_owned()
        } else {
            "use an existing date and a time, like 2026-12-01T09:00".to_owned()
        };
        let message = format!("invalid time `{}`", text.value);
        self.bad(text.span, message, &help);
        None
    }

    /// Reads the first or the last instant when the goal may be due.
    fn bound(&mut self, text: &Spanned<String>, zone: &ScheduleZone, is_end: bool) -> Option<Moment> {
        let written = text.value.as_str();
        if let Ok(moment) = Moment::parse(written) {
            return Some(moment);
        }
        let time = if is_end { "23:59:59" } else { "00:00" };
        let civil: Option<CivilDateTime> = match written.parse::<CivilDate>() {
            Ok(_) => format!("{written}T{time}").parse().ok(),
            Err(_) => written.parse().ok(),
        };
        let as_moment = civil.and_then(|civil| instant(civil, zone, is_end));
        if as_moment.is_none() {
            let message = format!("invalid date or time `{written}`");
            let help = "use an existing date, like 2026-12-01, 2026-12-01T09:00 in the goal's \
                        zone, or an instant like 2026-12-01T09:00:00Z";
            self.bad(text.span, message, help);
        }
        as_moment
    }

    fn exclusion(&mut self, spec: &ExclusionSpec) -> Option<ScheduleExclusion> {
        let text = match spec {
            ExclusionSpec::Hours(hours) => return self.hours(hours),
            ExclusionSpec::Days(text) => text,
        };
        let Some((first, last)) = text.value.split_once("..") else {
            return self.day(text, &text.value, 0).map(ScheduleExclusion::Date);
        };
        let from = self.day(text, first, 0);
        let until = self.day(text, last, first.len() + 2);
        let (from, until) = (from?, until?);
        if until < from {
            let help = format!("write {last}..{first}");
            self.bad(text.span, "the range ends before it starts", &help);
        }
        Some(ScheduleExclusion::Dates { from, until })
    }

    /// Reads a day at a byte offset of a text.
    fn day(&mut self, text: &Spanned<String>, day: &str, at: usize) -> Option<CivilDate> {
        let date = day.parse().ok();
        if date.is_none() {
            let span = part(self.source, text, at..at + day.len());
            let message = format!("invalid date `{day}`");
            let help = "use an existing date, like 2026-12-25, or a range of days, like \
                        2026-12-24..2027-01-02";
            self.bad(span, message, help);
        }
        date
    }

    fn hours(&mut self, hours: &HoursExclusionSpec) -> Option<ScheduleExclusion> {
        let from: Option<ClockTime> = self.clock(&hours.from);
        let until: Option<ClockTime> = self.clock(&hours.until);
        let (from, until) = (from?, until?);
        let at = hours.until.span;
        let midnight = ClockTime::from_str("24:00").ok();
        if Some(from) == midnight {
            let message = "24:00 is only valid as an end";
            self.bad(hours.from.span, message, "write 00:00");
        } else if from == until {
            let help = "write whole days as 00:00 to 24:00";
            self.bad(at, "the end equals the start", help);
        } else if ClockTime::from_str("00:00").ok() == Some(from)
            && Some(until) == midnight
            && Weekday::ALL
                .iter()
                .all(|day| hours.on.is_empty() || hours.on.iter().any(|on| on.value == *day))
        {
            let help = "remove it, or restrict it to days: `on: [SAT, SUN]`";
            self.bad(at, "this excludes all times of all days", help);
        }
        let on = hours.on.iter().map(|day| day.value).collect();
        Some(ScheduleExclusion::Daily { from, until, on })
    }

    fn clock(&mut self, text: &Spanned<String>) -> Option<ClockTime> {
        let time = text.value.parse().ok();
        if time.is_none() {
            let message = format!("invalid time of day `{}`", text.value);
            self.bad(text.span, message, "write 00:00 to 24:00, like 22:00");
        }
        time
    }
}

/// Returns the instant when clocks of a zone show a time: one they never show is the
/// instant when they skip it; of two, it is the last if it ends something.
fn instant(civil: CivilDateTime, zone: &ScheduleZone, is_end: bool) -> Option<Moment> {
    let dst = DstPolicy {
        gap: DstGapPolicy::RunAtTransition,
        overlap: if is_end { DstOverlapPolicy::Last } else { DstOverlapPolicy::First },
    };
    let zone = zone.clone();
    let once = GoalSchedule::of(TimingRule::At { civil, zone, dst });
    Some(once.next(Moment::from_millis(i64::MIN))?.at)
}

/// Returns the mistake of a goal with all its scheduled times excluded.
fn never_due(goal: &GoalSpec, schedule: &GoalSchedule) -> Option<Diagnostic> {
    if schedule.find_open_slot().is_some() {
        return None;
    }
    let at = goal.schedule.as_ref()?.span;
    if schedule.next(Moment::from_millis(i64::MIN)).is_none() {
        let message = "the goal is never due";
        let help = "check `active_from`, `active_until` and `dst`";
        return Some(Diagnostic::new(Code::NeverDue, at, message).with_help(help));
    }
    let message = "the goal is never due: `exclude` covers every scheduled time";
    let mistake = Diagnostic::new(Code::NeverDue, at, message);
    Some(mistake.with_help("check `exclude`"))
}

/// Returns the warning of a goal that may start after its next scheduled time.
fn wide_splay(goal: &GoalSpec, schedule: &GoalSchedule) -> Option<Diagnostic> {
    let splay = goal.splay.as_ref()?;
    let from = schedule.active_from.unwrap_or(USUAL);
    let from = Moment::from_millis(from.millis().saturating_sub(1));
    let slots = || schedule.slots(from, Moment::from_millis(i64::MAX)).take(SOME);
    let pairs = slots().zip(slots().skip(1));
    let shortest = pairs.map(|(slot, next)| next.at.since(slot.at)).min()?;
    if splay.value.0 <= shortest {
        return None;
    }
    let between = format_duration(shortest);
    let message = format!(
        "`splay` is longer than the shortest interval between two slots, \
                           {between}"
    );
    let mistake = Diagnostic::new(Code::SplayWide, splay.span, message);
    Some(mistake.with_help(format!("write at most `splay: {between}`")))
}

#[cfg(test)]
mod tests;
