//! The configuration of a gate, by its check.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::JsonExpectationSpec;
use crate::{
    decode::{
        ByteSize, DecodeSpec, MappingFields, OneOrMany, RegexPattern, SpecDecoder, WorkspacePath, record,
        words,
    },
    yaml::YamlNode,
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    keywords,
    source::Spanned,
};
use wf_model::{DETECTORS, OnFinding};

keywords! {
    listed
    /// The check of a predicate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PredicateKind {
        /// `numeric_range`
        NumericRange = "numeric_range",
        /// `string_match`
        StringMatch = "string_match",
        /// `regex`
        Regex = "regex",
        /// `file_valid`
        FileValid = "file_valid",
        /// `approval_always`
        ApprovalAlways = "approval_always",
        /// `json_path`
        JsonPath = "json_path",
    }
}

words!(PredicateKind);

/// A rule about a value, configured.
#[derive(Clone, Debug)]
pub enum PredicateRule {
    /// A number in ranges.
    NumericRange(NumericRangeConfig),
    /// One of some texts.
    StringMatch(StringMatchConfig),
    /// A text a pattern matches.
    Regex(RegexConfig),
    /// A file that must exist.
    FileValid(FileValidConfig),
    /// An approval, always.
    ApprovalAlways,
    /// Comparisons of values inside the value.
    JsonPath(JsonPathConfig),
}

record! {
    /// The ranges of a number, checked in this order; outside all of them, it is blocked.
    pub struct NumericRangeConfig as "the configuration of `numeric_range`" {
        /// The number is moved into this range first.
        optional clamp: Spanned<PredicateRangeSpec>,
        /// Outside this range, it is blocked.
        optional block_outside: PredicateRangeSpec,
        /// In this range, it continues.
        optional auto_approve: PredicateRangeSpec,
        /// In this range, it needs an approval.
        optional require_approval: PredicateRangeSpec,
    }
    finish ranges;
}

record! {
    /// A range of numbers, both ends included.
    pub struct PredicateRangeSpec as "a range" {
        /// The minimum; unlimited if absent.
        optional min: f64,
        /// The maximum; unlimited if absent.
        optional max: f64,
    }
    finish some_range;
    lowers wf_model::PredicateRange;
}

record! {
    /// The known texts; any other is blocked.
    pub struct StringMatchConfig as "the configuration of `string_match`" {
        /// The texts that continue.
        default allowed_values: Vec<String>,
        /// The texts that need an approval.
        default approval_values: Vec<String>,
    }
    finish some_values;
}

record! {
    /// The pattern that must match.
    pub struct RegexConfig as "the configuration of `regex`" {
        /// A regular expression. It matches anywhere, unless it has `^` and `$`.
        required pattern: RegexPattern,
    }
}

record! {
    /// The requirements on a file.
    pub struct FileValidConfig as "the configuration of `file_valid`" {
        /// The permitted folders, relative to the workspace: anywhere in it if absent.
        default permitted: Vec<Spanned<WorkspacePath>>,
        /// The maximum size, for example `1MiB`.
        optional max_size: ByteSize,
    }
}

record! {
    /// The conditions on values inside a value. All must be met.
    pub struct JsonPathConfig as "the configuration of `json_path`" {
        /// Comparisons of the values that JSON paths select.
        required json: OneOrMany<JsonExpectationSpec>,
    }
}

record! {
    /// The detectors of a guardrail, and the effect of a finding.
    pub struct GuardrailConfig as "the configuration of a guardrail" {
        /// The names of detectors.
        required detect: Vec<Spanned<String>>,
        /// The effect of a finding: `block` if absent.
        default on_find: OnFinding,
    }
    finish known_detectors;
    lowers wf_model::Guardrail;
}

record! {
    /// The prompt of a model.
    pub struct LlmConfig as "the configuration of an llm gate" {
        /// The prompt; the text of the gate's file if absent.
        optional prompt: String,
    }
}

words!(OnFinding);

/// A configuration without common keys: read once the check is known.
#[derive(Clone, Copy, Debug)]
pub struct UndecodedConfig;

impl DecodeSpec for UndecodedConfig {
    fn decode(_: &YamlNode<'_>, _decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        Some(Self)
    }
}

impl JsonSchema for UndecodedConfig {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AnyConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let schemas = [
            generator.subschema_for::<NumericRangeConfig>(),
            generator.subschema_for::<StringMatchConfig>(),
            generator.subschema_for::<RegexConfig>(),
            generator.subschema_for::<FileValidConfig>(),
            generator.subschema_for::<JsonPathConfig>(),
            generator.subschema_for::<GuardrailConfig>(),
            generator.subschema_for::<LlmConfig>(),
        ];
        json_schema!({ "anyOf": schemas })
    }
}

impl PredicateRule {
    /// Reads the `config` of a check. Missing and invalid values are noted.
    pub(super) fn read(
        check: &Spanned<PredicateKind>,
        fields: &MappingFields<'_, '_>,
        decoder: &mut SpecDecoder<'_>,
    ) -> Option<Self> {
        if check.value == PredicateKind::ApprovalAlways {
            if fields.has("config") {
                let message = "`approval_always` takes no configuration";
                decoder.emit(Diagnostic::new(Code::KeyUnknown, fields.key("config"), message));
            }
            return Some(Self::ApprovalAlways);
        }
        if !fields.has("config") {
            let message = "this check requires the key `config`";
            decoder.emit(Diagnostic::new(Code::KeyMissing, check.span, message));
            return None;
        }
        match check.value {
            PredicateKind::NumericRange => fields.take("config", decoder).map(Self::NumericRange),
            PredicateKind::StringMatch => fields.take("config", decoder).map(Self::StringMatch),
            PredicateKind::Regex => fields.take("config", decoder).map(Self::Regex),
            PredicateKind::FileValid => fields.take("config", decoder).map(Self::FileValid),
            PredicateKind::JsonPath => fields.take("config", decoder).map(Self::JsonPath),
            PredicateKind::ApprovalAlways => Some(Self::ApprovalAlways),
        }
    }
}

/// Notes ranges where nothing could ever continue.
fn ranges(config: &mut NumericRangeConfig, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if !fields.has("auto_approve") && !fields.has("require_approval") {
        let message = "without `auto_approve` and `require_approval`, every number is blocked";
        decoder.emit(Diagnostic::new(Code::KeyMissing, fields.head(), message));
    }
    let outside = config.block_outside.as_ref();
    for (key, range) in [
        ("auto_approve", config.auto_approve.as_ref()),
        ("require_approval", config.require_approval.as_ref()),
    ] {
        if let (Some(outside), Some(range)) = (outside, range)
            && (range.max.zip(outside.min).is_some_and(|(max, min)| max < min)
                || range.min.zip(outside.max).is_some_and(|(min, max)| min > max))
        {
            let message = format!("`{key}` is outside `block_outside`, where everything is blocked");
            decoder.emit(Diagnostic::new(Code::ValueWrong, fields.key(key), message));
        }
    }
}

fn some_range(range: &mut PredicateRangeSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if !fields.has("min") && !fields.has("max") {
        let message = "a range needs `min` or `max`";
        decoder.emit(Diagnostic::new(Code::KeyMissing, fields.head(), message));
    }
    if range.min.zip(range.max).is_some_and(|(min, max)| min > max) {
        let message = "`min` is greater than `max`, so the range is empty";
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.key("min"), message));
    }
}

/// Notes unknown names of detectors.
fn known_detectors(
    config: &mut GuardrailConfig,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    for name in &config.detect {
        if !DETECTORS.contains(&name.value.as_str()) {
            let message = format!("unknown detector `{}`", name.value);
            let mistake = Diagnostic::new(Code::ValueWrong, name.span, message);
            decoder.emit(match nearest(&name.value, DETECTORS.iter().copied()) {
                Some(near) => mistake.with_suggestion(Some(near)),
                None => mistake.with_help(format!("use {}", DETECTORS.join(" or "))),
            });
        }
    }
}

/// Notes lists of texts with which nothing could ever continue, and texts in both lists.
fn some_values(
    config: &mut StringMatchConfig,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    if config.allowed_values.is_empty() && config.approval_values.is_empty() {
        let message = "without `allowed_values` and `approval_values`, every value is blocked";
        decoder.emit(Diagnostic::new(Code::KeyMissing, fields.head(), message));
    }
    let twice = |value: &&String| config.allowed_values.contains(value);
    if let Some(value) = config.approval_values.iter().find(twice) {
        let message = format!("`{value}` is also listed in `allowed_values`, which takes precedence");
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.key("approval_values"), message));
    }
}
