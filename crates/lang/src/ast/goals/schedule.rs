use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    decode::{DecodeSpec, DurationText, MappingFields, SpecDecoder, record, words},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_model::{
    MissedTimesChoice,
    schedule::{DstGapPolicy, DstOverlapPolicy, Weekday},
};

/// One rule of a schedule. Its texts are parsed later, together with the file.
#[derive(Clone, Debug)]
pub struct ScheduleRuleSpec {
    /// The time.
    pub when: RuleTimeSpec,
    /// The zone of its times, if not that of the goal.
    pub timezone: Option<Spanned<String>>,
}

/// The time when a rule is due.
#[derive(Clone, Debug)]
pub enum RuleTimeSpec {
    /// Again and again: a cron expression.
    Cron(Spanned<String>),
    /// Once: a time in the zone.
    At(Spanned<String>),
}

record! {
    /// A rule of a schedule with its own zone, or a time that comes once.
    pub struct TimedRuleSpec as "a schedule" {
        /// A cron expression.
        optional cron: Spanned<String>,
        /// A time that comes once: `2026-12-01T09:00`.
        optional at: Spanned<String>,
        /// The zone, by its IANA name: that of the goal if absent.
        optional timezone: Spanned<String>,
    }
    finish check_rule_time;
}

record! {
    /// The rules for changes of the clock.
    pub struct DstSpec as "a dst" {
        /// The rule for a time that the clock skips: `run_at_transition` if absent.
        optional gap: DstGapPolicy,
        /// The rule for a time that the clock repeats: `first` if absent.
        optional overlap: DstOverlapPolicy,
    }
}

words!(DstGapPolicy, DstOverlapPolicy);

record! {
    /// The treatment of scheduled times that were missed because the engine did not run.
    pub struct MissedTimesSpec as "a missed" {
        /// The ones that are made up for: `latest` if absent.
        optional run: Spanned<MissedTimesChoice>,
        /// The maximum age of the ones that are made up for: `1d` if absent.
        optional window: Spanned<DurationText>,
        /// The maximum number made up for, with `run: all`: 100 if absent.
        optional cap: Spanned<u32>,
    }
    finish check_unused_limits;
    completes wf_model::MissedTimesPolicy;
}

words!(MissedTimesChoice);

/// A time without reconciliation.
#[derive(Clone, Debug)]
pub enum ExclusionSpec {
    /// A day, or days from one to another: `2026-12-24..2027-01-02`, both included.
    Days(Spanned<String>),
    /// A time of every day, or of some days of the week.
    Hours(Box<HoursExclusionSpec>),
}

record! {
    /// A time of the day without reconciliation. It may extend past midnight.
    pub struct HoursExclusionSpec as "an exclusion" {
        /// Its beginning: `22:00`.
        required from: Spanned<String>,
        /// Its end, exclusive: `06:00`.
        required until: Spanned<String>,
        /// The days on which it begins: every day if absent.
        default on: Vec<Spanned<Weekday>>,
    }
}

words!(Weekday);

fn check_rule_time(rule: &mut TimedRuleSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if rule.cron.is_some() && rule.at.is_some() {
        let message = "a schedule has both `cron` and `at`";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("at"), message);
        decoder.emit(mistake.with_help("split it into a list of two schedules"));
    } else if !fields.has("cron") && !fields.has("at") {
        let message = "a schedule needs `cron` or `at`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.emit(mistake.with_help("add `cron: \"0 6 * * *\"` or `at: 2026-12-01T09:00`"));
    }
}

/// Notes limits on missed times that are skipped anyway.
fn check_unused_limits(
    missed: &mut MissedTimesSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let run = missed.run.as_ref().map(|word| word.value);
    let run = run.unwrap_or_default();
    let idle: &[&str] = match run {
        MissedTimesChoice::None => &["window", "cap"],
        MissedTimesChoice::Latest => &["cap"],
        MissedTimesChoice::All => &[],
    };
    for key in idle.iter().filter(|key| fields.has(key)) {
        let message = format!("`run: {}` does not support `{key}`", run.as_str());
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
        decoder.emit(mistake.with_help(match *key {
            "cap" => "it is only valid with `run: all`",
            _ => "it is only valid with `run: latest` or `run: all`",
        }));
    }
    let nothing = "so missed slots would never run";
    let window = missed.window.as_ref().filter(|time| time.value.0.is_zero());
    let cap = missed.cap.as_ref().filter(|cap| cap.value == 0);
    let spans = window.map(|time| time.span).into_iter();
    for span in spans.chain(cap.map(|cap| cap.span)) {
        let message = format!("a limit of 0, {nothing}");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        decoder.emit(mistake.with_help("write `run: none` instead"));
    }
}

impl MissedTimesSpec {
    /// Returns the location of the rule that all missed times are made up for.
    pub(super) fn all_missed_span(&self) -> Option<Span> {
        let run = self.run.as_ref()?;
        (run.value == MissedTimesChoice::All).then_some(run.span)
    }
}

impl DecodeSpec for ScheduleRuleSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if !matches!(node.value, YamlValue::Map(_)) {
            return Some(Self { when: RuleTimeSpec::Cron(Spanned::decode(node, decoder)?), timezone: None });
        }
        let rule = TimedRuleSpec::decode(node, decoder)?;
        let when = match (rule.cron, rule.at) {
            (Some(cron), None) => RuleTimeSpec::Cron(cron),
            (None, Some(at)) => RuleTimeSpec::At(at),
            _ => return None,
        };
        Some(Self { when, timezone: rule.timezone })
    }
}

impl DecodeSpec for ExclusionSpec {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match node.value {
            YamlValue::Map(_) => DecodeSpec::decode(node, decoder).map(Self::Hours),
            _ => DecodeSpec::decode(node, decoder).map(Self::Days),
        }
    }
}

impl JsonSchema for ScheduleRuleSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ScheduleRule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let timed = generator.subschema_for::<TimedRuleSpec>();
        let about = "A cron expression.";
        json_schema!({ "anyOf": [{ "type": "string", "description": about }, timed] })
    }
}

impl JsonSchema for ExclusionSpec {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Exclude".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hours = generator.subschema_for::<HoursExclusionSpec>();
        let days = "^\\d{4}-\\d{2}-\\d{2}(\\.\\.\\d{4}-\\d{2}-\\d{2})?$";
        json_schema!({ "anyOf": [{ "type": "string", "pattern": days }, hours] })
    }
}
