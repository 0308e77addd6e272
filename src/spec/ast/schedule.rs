use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::diag::{Code, Diagnostic};
use crate::model::MissedRun;
use crate::schedule::{Fold, Gap, Weekday};
use crate::source::{Span, Spanned};
use crate::spec::decode::{Decode, Decoder, Fields, Period, record, words};
use crate::spec::yaml::{Node, Yaml};

/// One rule of a schedule. What its texts say is read later, with the file at hand.
#[derive(Clone, Debug)]
pub struct ScheduleRule {
    /// When.
    pub when: When,
    /// The zone in which it is read, if not that of the goal.
    pub timezone: Option<Spanned<String>>,
}

/// When a rule is due.
#[derive(Clone, Debug)]
pub enum When {
    /// Again and again: a cron expression.
    Cron(Spanned<String>),
    /// Once: a time in the zone.
    At(Spanned<String>),
}

record! {
    /// A rule of a schedule with its own zone, or a time that comes once.
    pub struct TimedRule as "a schedule" {
        /// A cron expression.
        optional cron: Spanned<String>,
        /// A time that comes once: `2026-12-01T09:00`.
        optional at: Spanned<String>,
        /// The zone, by its IANA name: that of the goal if absent.
        optional timezone: Spanned<String>,
    }
    finish one_time;
}

record! {
    /// What happens where clocks are put forward or back.
    pub struct DstRule as "a dst" {
        /// A time that does not exist, as the clock jumps over it: `run_at_transition` if absent.
        optional gap: Gap,
        /// A time that exists twice, as the clock goes back: `first` if absent.
        optional overlap: Fold,
    }
}

words!(Gap { "skip" => Self::Skip, "run_at_transition" => Self::RunAtTransition });

words!(Fold { "first" => Self::First, "last" => Self::Last, "both" => Self::Both });

record! {
    /// What is done about slots at which nobody was there.
    pub struct MissedRule as "a missed" {
        /// Which of them begin after all: `latest` if absent.
        optional run: Spanned<MissedRun>,
        /// How far back they begin: `1d` if absent.
        optional window: Spanned<Period>,
        /// How many begin at most, with `run: all`: 100 if absent.
        optional cap: Spanned<u32>,
    }
    finish has_use;
}

words!(MissedRun { "none" => Self::None, "latest" => Self::Latest, "all" => Self::All });

/// When a goal is not looked at.
#[derive(Clone, Debug)]
pub enum Exclude {
    /// A day, or days from one to another: `2026-12-24..2027-01-02`, both included.
    Days(Spanned<String>),
    /// A time of every day, or of some days of the week.
    Hours(Box<HoursRule>),
}

record! {
    /// A time of the day at which a goal is not looked at. It may go on past midnight.
    pub struct HoursRule as "an exclusion" {
        /// Its beginning: `22:00`.
        required from: Spanned<String>,
        /// Its end, which does not belong to it: `06:00`.
        required until: Spanned<String>,
        /// The days on which it begins: every day if absent.
        default on: Vec<Spanned<Weekday>>,
    }
}

words!(Weekday {
    "MON" => Self::Mon,
    "TUE" => Self::Tue,
    "WED" => Self::Wed,
    "THU" => Self::Thu,
    "FRI" => Self::Fri,
    "SAT" => Self::Sat,
    "SUN" => Self::Sun,
});

fn one_time(rule: &mut TimedRule, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if rule.cron.is_some() && rule.at.is_some() {
        let message = "a schedule has both `cron` and `at`";
        let mistake = Diagnostic::new(Code::ValueWrong, fields.key("at"), message);
        decoder.note(mistake.help("make two schedules of it: a list"));
    } else if !fields.has("cron") && !fields.has("at") {
        let message = "a schedule says no time";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.head(), message);
        decoder.note(mistake.help("add `cron: \"0 6 * * *\"` or `at: 2026-12-01T09:00`"));
    }
}

/// Notes bounds of what is not done.
fn has_use(missed: &mut MissedRule, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let run = missed.run.as_ref().map(|word| word.value);
    let run = run.unwrap_or_default();
    let idle: &[&str] = match run {
        MissedRun::None => &["window", "cap"],
        MissedRun::Latest => &["cap"],
        MissedRun::All => &[],
    };
    for key in idle.iter().filter(|key| fields.has(key)) {
        let message = format!("`run: {}` has no use for `{key}`", run.as_str());
        let mistake = Diagnostic::new(Code::KeyUnknown, fields.key(key), message);
        decoder.note(mistake.help(match *key {
            "cap" => "it belongs to `run: all`",
            _ => "it belongs to `run: latest` or `run: all`",
        }));
    }
    let nothing = "so that nothing would ever begin after all";
    let window = missed.window.as_ref().filter(|time| time.value.0.is_zero());
    let cap = missed.cap.as_ref().filter(|cap| cap.value == 0);
    let spans = window.map(|time| time.span).into_iter();
    for span in spans.chain(cap.map(|cap| cap.span)) {
        let message = format!("this bounds it to nothing, {nothing}");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        decoder.note(mistake.help("say that with `run: none`"));
    }
}

impl MissedRule {
    /// Where it says that all missed slots begin after all.
    pub(super) fn all(&self) -> Option<Span> {
        let run = self.run.as_ref()?;
        (run.value == MissedRun::All).then_some(run.span)
    }
}

impl Decode for ScheduleRule {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        if !matches!(node.value, Yaml::Map(_)) {
            return Some(Self {
                when: When::Cron(Spanned::decode(node, decoder)?),
                timezone: None,
            });
        }
        let rule = TimedRule::decode(node, decoder)?;
        let when = match (rule.cron, rule.at) {
            (Some(cron), None) => When::Cron(cron),
            (None, Some(at)) => When::At(at),
            _ => return None,
        };
        Some(Self {
            when,
            timezone: rule.timezone,
        })
    }
}

impl Decode for Exclude {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        match node.value {
            Yaml::Map(_) => Decode::decode(node, decoder).map(Self::Hours),
            _ => Decode::decode(node, decoder).map(Self::Days),
        }
    }
}

impl JsonSchema for ScheduleRule {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ScheduleRule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let timed = generator.subschema_for::<TimedRule>();
        let about = "A cron expression.";
        json_schema!({ "anyOf": [{ "type": "string", "description": about }, timed] })
    }
}

impl JsonSchema for Exclude {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Exclude".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hours = generator.subschema_for::<HoursRule>();
        let days = "^\\d{4}-\\d{2}-\\d{2}(\\.\\.\\d{4}-\\d{2}-\\d{2})?$";
        json_schema!({ "anyOf": [{ "type": "string", "pattern": days }, hours] })
    }
}
