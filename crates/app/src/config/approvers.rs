use std::{borrow::Cow, collections::BTreeSet};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use wf_base::{
    diag::{Code, Diagnostic},
    keywords,
    source::{SourceText, Spanned},
    time::Moment,
};
use wf_lang::{
    decode::{DecodeSpec, DurationText, SpecDecoder, record, words},
    yaml::{YamlNode, YamlValue},
};
use wf_sign::{
    ApproverKey,
    approval::{Approver, Approvers, ReviewPolicy, VALIDITY},
};

record! {
    /// The approvers of a workspace.
    pub struct ApproversFile as "the approvers" {
        /// The policy on the approvers of a plan before it runs: `owner` is the user running
        /// it, `reviewed` are other approvers, in advance.
        expected policy: ReviewPolicySetting,
        /// The number of required approvers: 1 if absent.
        optional required: Spanned<u32>,
        /// The longest validity of an approval: `7d` if absent.
        optional validity: Spanned<DurationText>,
        /// The approvers.
        default approvers: Vec<ApproverRecord>,
    }
}

record! {
    /// An approver.
    pub struct ApproverRecord as "an approver" {
        /// The name, for display.
        expected name: Spanned<String>,
        /// The Ed25519 public key, as `wf key list` shows it: 64 hexadecimal digits.
        expected key: Spanned<ApproverKeyText>,
        /// The end of trust in the key: a day, or an instant.
        optional revoked: DayOrInstant,
    }
}

keywords! {
    listed
    /// The policy on the approvers of a plan, as it is written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ReviewPolicySetting {
        /// `owner`
        Owner = "owner",
        /// `reviewed`
        Reviewed = "reviewed",
    }
}

words!(ReviewPolicySetting);

impl From<ReviewPolicySetting> for ReviewPolicy {
    fn from(setting: ReviewPolicySetting) -> Self {
        match setting {
            ReviewPolicySetting::Owner => Self::Owner,
            ReviewPolicySetting::Reviewed => Self::Reviewed,
        }
    }
}

/// A public key as digits, or a passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApproverKeyText(pub ApproverKey);

/// A day, or an instant; a day stands for its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayOrInstant(pub Moment);

/// Returns a scalar as it is written: digits alone would be a number.
fn scalar_text<'t>(node: &'t YamlNode<'_>, decoder: &SpecDecoder<'t>) -> Option<&'t str> {
    match &node.value {
        YamlValue::Text(text) => Some(text),
        YamlValue::Number(_) => Some(decoder.source_text(node.span)),
        _ => None,
    }
}

impl DecodeSpec for ApproverKeyText {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let Some(key) = scalar_text(node, decoder).map(ApproverKey::parse) else {
            decoder.wrong_type(node, "a public key");
            return None;
        };
        let key = key.map_err(|error| decoder.wrong_value(node, error.to_string()));
        key.map(Self).ok()
    }
}

impl JsonSchema for ApproverKeyText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "KeyText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9a-fA-F]{64}|passkey:[a-z0-9.-]+:04[0-9a-fA-F]{128})$" })
    }
}

impl DecodeSpec for DayOrInstant {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let text = String::decode(node, decoder)?;
        let read = Moment::parse(&text).or_else(|_| Moment::parse(&format!("{text}T00:00:00Z")));
        let wrong = "a day must be like 2026-11-21, an instant like 2026-11-21T09:30:00Z";
        read.map_err(|_| decoder.wrong_value(node, wrong)).map(Self).ok()
    }
}

impl JsonSchema for DayOrInstant {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\d(T.*)?$" })
    }
}

/// Reads `approvers.yaml`: its declarations as far as they are usable, and all diagnostics. The
/// caller must not act on them if there are any.
pub fn load_approvers(source: &SourceText) -> (Option<ApproversFile>, Vec<Diagnostic>) {
    let (tree, mut decoder) = super::load::open(source);
    let file = tree.and_then(|tree| ApproversFile::decode(&tree, &mut decoder));
    if let Some(file) = &file {
        check_approvers(file, &mut decoder);
    }
    let mut mistakes = decoder.into_mistakes().into_diagnostics();
    mistakes.sort_by_key(|mistake| mistake.span);
    (file, mistakes)
}

/// Checks that the approvers are distinct, and enough.
fn check_approvers(file: &ApproversFile, decoder: &mut SpecDecoder<'_>) {
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    for approver in &file.approvers {
        if let Some(name) = approver.name.as_ref().filter(|name| !names.insert(&name.value)) {
            let message = format!("duplicate approver `{}`", name.value);
            decoder.emit(Diagnostic::new(Code::DuplicateId, name.span, message));
        }
        if let Some(key) = approver.key.as_ref().filter(|key| !keys.insert(key.value.0.text())) {
            let message = "two approvers have the same key, so a signature would count twice";
            decoder.emit(Diagnostic::new(Code::DuplicateId, key.span, message));
        }
    }
    let Some(required) = &file.required else {
        return;
    };
    let there = file.approvers.iter().filter(|record| record.revoked.is_none());
    let there = u32::try_from(there.count()).unwrap_or(u32::MAX);
    let reviewed = file.policy == Some(ReviewPolicySetting::Reviewed);
    let wrong = match required.value {
        0 => "at least one approver is required".to_owned(),
        many if reviewed && many > there => {
            format!("{many} approvals are required, but only {there} approvers have a valid key")
        }
        _ => return,
    };
    decoder.emit(Diagnostic::new(Code::ValueWrong, required.span, wrong));
}

impl From<ApproversFile> for Approvers {
    /// Returns the approvers of a file without mistakes, with defaults filled in.
    fn from(file: ApproversFile) -> Self {
        let approver = |record: ApproverRecord| {
            Some(Approver {
                name: record.name?.value,
                public: record.key?.value.0,
                revoked: record.revoked.map(|day| day.0),
            })
        };
        Self {
            policy: file.policy.map(ReviewPolicy::from).unwrap_or_default(),
            required: file.required.map_or(1, |required| required.value),
            keys: file.approvers.into_iter().filter_map(approver).collect(),
            validity: file.validity.map_or(VALIDITY, |period| period.value.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::load_approvers;
    use std::time::Duration;
    use wf_base::source::SourceText;
    use wf_sign::{
        Signer,
        approval::{Approvers, ReviewPolicy},
    };

    fn hex(of: u8) -> String {
        Signer::from_bytes(&[of; 32]).public().hex()
    }

    fn wrong(text: &str) -> Vec<String> {
        let source = SourceText::new("approvers.yaml", text);
        let (_, mistakes) = load_approvers(&source);
        mistakes
            .iter()
            .map(|diagnostic| format!("{} {}", source.slice(diagnostic.span), diagnostic.code.as_str()))
            .collect()
    }

    #[test]
    fn everything_can_be_said() {
        let (ada, bob) = (hex(1), hex(2));
        let text = format!(
            "policy: reviewed\nrequired: 1\nvalidity: 2d\napprovers:\n  - {{name: ada, key: {ada}}}\n  \
             - name: bob\n    key: \"{bob}\"\n    revoked: 2026-11-21\n"
        );
        let (file, mistakes) = load_approvers(&SourceText::new("approvers.yaml", text));
        assert_eq!(mistakes, []);
        let approvers = Approvers::from(file.unwrap());
        assert_eq!((approvers.policy, approvers.required), (ReviewPolicy::Reviewed, 1));
        assert_eq!(approvers.validity, Duration::from_hours(48));
        assert_eq!(approvers.keys[0].public.text(), ada);
        assert_eq!(approvers.keys[0].revoked, None);
        let revoked = approvers.keys[1].revoked.unwrap().to_string();
        assert_eq!(revoked, "2026-11-21T00:00:00.000Z");
    }

    #[test]
    fn every_mistake_is_told() {
        let ada = hex(1);
        let entry =
            format!("policy: reviewd\nrequird: 1\napprovers:\n  - {{name: ada, key: {ada}, revokd: x}}\n");
        assert_eq!(
            wrong(&entry),
            ["reviewd spec/wrong-value", "requird spec/unknown-key", "revokd spec/unknown-key"]
        );
        let twice = format!(
            "policy: reviewed\nrequired: 3\napprovers:\n  - {{name: ada, key: {ada}}}\n  - {{name: ada, key: {ada}}}\n"
        );
        assert_eq!(
            wrong(&twice),
            [
                "3 spec/wrong-value".to_owned(),
                "ada plan/duplicate-id".into(),
                format!("{ada} plan/duplicate-id"),
            ]
        );
        let zeros = "0".repeat(64);
        let weak = format!("policy: owner\nrequired: 0\napprovers:\n  - {{name: ada, key: {zeros}}}\n");
        let weak_key = format!("{zeros} spec/wrong-value");
        assert_eq!(wrong(&weak), ["0 spec/wrong-value", &weak_key]);
        assert_eq!(
            wrong("policy: owner\napprovers: [{name: ada, key: abc, revoked: today}]\n"),
            ["abc spec/wrong-value", "today spec/wrong-value"]
        );
        assert_eq!(wrong("approvers: []\n").len(), 1);
        assert_eq!(wrong("[]\n").len(), 1);
    }
}
