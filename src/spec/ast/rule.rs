//! What a gate is configured with, by what it checks.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::JsonExpect;
use crate::diag::{Code, Diagnostic, nearest};
use crate::model::{DETECTORS, OnFind};
use crate::source::Spanned;
use crate::spec::decode::{
    Decode, Decoder, Fields, OneOrMany, Pattern, RelPath, Size, record, words,
};
use crate::spec::yaml::Node;

/// What a predicate looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckWord {
    /// `numeric_range`
    NumericRange,
    /// `string_match`
    StringMatch,
    /// `regex`
    Regex,
    /// `file_valid`
    FileValid,
    /// `approval_always`
    ApprovalAlways,
    /// `json_path`
    JsonPath,
}

words!(CheckWord {
    "numeric_range" => Self::NumericRange,
    "string_match" => Self::StringMatch,
    "regex" => Self::Regex,
    "file_valid" => Self::FileValid,
    "approval_always" => Self::ApprovalAlways,
    "json_path" => Self::JsonPath,
});

/// A rule about a value, configured.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A number in ranges.
    NumericRange(NumericRange),
    /// One of some texts.
    StringMatch(StringMatch),
    /// A text that a pattern matches.
    Regex(RegexRule),
    /// A file that is there.
    FileValid(FileValid),
    /// Somebody must agree, always.
    ApprovalAlways,
    /// Comparisons of values inside of it.
    JsonPath(JsonPathRule),
}

record! {
    /// The ranges of a number, looked at in this order; in none of them, it is blocked.
    pub struct NumericRange as "the configuration of `numeric_range`" {
        /// The number is moved into this range first.
        optional clamp: RangeOf,
        /// Outside of this range, it is blocked.
        optional block_outside: RangeOf,
        /// In this range, it goes on.
        optional auto_approve: RangeOf,
        /// In this range, somebody must agree.
        optional require_approval: RangeOf,
    }
    finish ranges;
}

record! {
    /// Numbers from one to another, both included.
    pub struct RangeOf as "a range" {
        /// The least; without it there is no least.
        optional min: f64,
        /// The greatest; without it there is no greatest.
        optional max: f64,
    }
    finish some_range;
}

record! {
    /// The texts that are known; any other is blocked.
    pub struct StringMatch as "the configuration of `string_match`" {
        /// With these it goes on.
        default allowed_values: Vec<String>,
        /// With these somebody must agree.
        default approval_values: Vec<String>,
    }
    finish some_values;
}

record! {
    /// The pattern that must match.
    pub struct RegexRule as "the configuration of `regex`" {
        /// A regular expression. It matches anywhere, unless it has `^` and `$`.
        required pattern: Pattern,
    }
}

record! {
    /// What a file must be.
    pub struct FileValid as "the configuration of `file_valid`" {
        /// The folders that it may be in, relative to the workspace: anywhere in it if absent.
        default permitted: Vec<Spanned<RelPath>>,
        /// The largest it may be, for example `1MiB`.
        optional max_size: Size,
    }
}

record! {
    /// What must be found inside of a value. All of it.
    pub struct JsonPathRule as "the configuration of `json_path`" {
        /// Comparisons of what JSON paths select.
        required json: OneOrMany<JsonExpect>,
    }
}

record! {
    /// What a guardrail looks for, and what a finding means.
    pub struct GuardrailConfig as "the configuration of a guardrail" {
        /// The names of detectors.
        required detect: Vec<Spanned<String>>,
        /// What a finding means: `block` if absent.
        default on_find: OnFind,
    }
    finish known_detectors;
}

record! {
    /// What a model is asked.
    pub struct LlmConfig as "the configuration of an llm gate" {
        /// What it judges by; the text of the gate's file if absent.
        optional prompt: String,
    }
}

words!(known OnFind {
    "block" => Self::Block,
    "redact" => Self::Redact,
    "ask" => Self::Ask,
    "flag" => Self::Flag,
});

/// Configurations that have nothing in common: read once it is known of what.
#[derive(Clone, Copy, Debug)]
pub struct AnyConfig;

impl Decode for AnyConfig {
    fn decode(_: &Node<'_>, _: &mut Decoder<'_>) -> Option<Self> {
        Some(Self)
    }
}

impl JsonSchema for AnyConfig {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let all = [
            generator.subschema_for::<NumericRange>(),
            generator.subschema_for::<StringMatch>(),
            generator.subschema_for::<RegexRule>(),
            generator.subschema_for::<FileValid>(),
            generator.subschema_for::<JsonPathRule>(),
            generator.subschema_for::<GuardrailConfig>(),
            generator.subschema_for::<LlmConfig>(),
        ];
        json_schema!({ "anyOf": all })
    }
}

impl Rule {
    /// Reads the `config` of a check. What is missing or does not fit is noted.
    pub(super) fn read(
        check: &Spanned<CheckWord>,
        fields: &Fields<'_, '_>,
        decoder: &mut Decoder<'_>,
    ) -> Option<Self> {
        if check.value == CheckWord::ApprovalAlways {
            if fields.has("config") {
                let message = "`approval_always` has nothing to configure";
                decoder.note(Diagnostic::new(
                    Code::KeyUnknown,
                    fields.key("config"),
                    message,
                ));
            }
            return Some(Self::ApprovalAlways);
        }
        if !fields.has("config") {
            let message = "this check needs the key `config`";
            decoder.note(Diagnostic::new(Code::KeyMissing, check.span, message));
            return None;
        }
        match check.value {
            CheckWord::NumericRange => fields.take("config", decoder).map(Self::NumericRange),
            CheckWord::StringMatch => fields.take("config", decoder).map(Self::StringMatch),
            CheckWord::Regex => fields.take("config", decoder).map(Self::Regex),
            CheckWord::FileValid => fields.take("config", decoder).map(Self::FileValid),
            CheckWord::JsonPath => fields.take("config", decoder).map(Self::JsonPath),
            CheckWord::ApprovalAlways => Some(Self::ApprovalAlways),
        }
    }
}

/// Notes ranges in which nothing could ever go on.
fn ranges(made: &mut NumericRange, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if !fields.has("auto_approve") && !fields.has("require_approval") {
        let message = "without `auto_approve` and `require_approval`, every number is blocked";
        decoder.note(Diagnostic::new(Code::KeyMissing, fields.head(), message));
    }
    let outside = made.block_outside.as_ref();
    for (key, range) in [
        ("auto_approve", made.auto_approve.as_ref()),
        ("require_approval", made.require_approval.as_ref()),
    ] {
        if let (Some(outside), Some(range)) = (outside, range)
            && (range
                .max
                .zip(outside.min)
                .is_some_and(|(max, min)| max < min)
                || range
                    .min
                    .zip(outside.max)
                    .is_some_and(|(min, max)| min > max))
        {
            let message = format!("`{key}` lies outside of `block_outside`, where all is blocked");
            decoder.note(Diagnostic::new(Code::ValueWrong, fields.key(key), message));
        }
    }
}

fn some_range(range: &mut RangeOf, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if !fields.has("min") && !fields.has("max") {
        let message = "a range needs `min` or `max`";
        decoder.note(Diagnostic::new(Code::KeyMissing, fields.head(), message));
    }
    if range.min.zip(range.max).is_some_and(|(min, max)| min > max) {
        let message = "`min` is greater than `max`, so no number is in this range";
        decoder.note(Diagnostic::new(
            Code::ValueWrong,
            fields.key("min"),
            message,
        ));
    }
}

/// Notes names of detectors that there are not.
fn known_detectors(made: &mut GuardrailConfig, _: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    for name in &made.detect {
        if !DETECTORS.contains(&name.value.as_str()) {
            let message = format!("there is no detector `{}`", name.value);
            let mistake = Diagnostic::new(Code::ValueWrong, name.span, message);
            decoder.note(match nearest(&name.value, DETECTORS.iter().copied()) {
                Some(near) => mistake.meant(Some(near)),
                None => mistake.help(format!("use {}", DETECTORS.join(" or "))),
            });
        }
    }
}

/// Notes a list of texts in which nothing could ever go on, and texts that stand in both.
fn some_values(made: &mut StringMatch, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    if made.allowed_values.is_empty() && made.approval_values.is_empty() {
        let message = "without `allowed_values` and `approval_values`, every text is blocked";
        decoder.note(Diagnostic::new(Code::KeyMissing, fields.head(), message));
    }
    let twice = |value: &&String| made.allowed_values.contains(value);
    if let Some(value) = made.approval_values.iter().find(twice) {
        let message = format!("`{value}` stands in `allowed_values` too, which decides");
        decoder.note(Diagnostic::new(
            Code::ValueWrong,
            fields.key("approval_values"),
            message,
        ));
    }
}
