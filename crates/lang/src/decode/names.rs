use super::{DecodeSpec, EntryKey, SpecDecoder, lowers};
use crate::yaml::{YamlNode, YamlValue};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{ArgName, EnvName, GateId, Name, NameFormatError, PlanId, RefId, SkillName},
    source::Span,
};

/// Returns the mistake of a malformed name, with a small change making it valid, if any.
fn malformed(text: &str, error: NameFormatError, remedy: Option<String>, span: Span) -> Diagnostic {
    let mistake = Diagnostic::new(Code::NameMalformed, span, format!("invalid name `{text}`"));
    match remedy {
        Some(remedy) => mistake.with_help(format!("write `{remedy}`: {error}")),
        None => mistake.with_help(error.to_string()),
    }
}

/// Lower-case words of letters and digits, joined by one character.
fn joined(text: &str, joint: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(joint).to_ascii_lowercase()
}

/// Reads name types, each with the character that joins its words.
macro_rules! names {
    ($($type:ty, $joint:literal;)*) => { $(
        impl EntryKey for $type {
            fn read(text: &str, span: Span, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
                Self::parse(text)
                    .map_err(|bad| {
                        let better = joined(text, $joint);
                        let remedy = Self::parse(&better).is_ok().then_some(better);
                        decoder.emit(malformed(text, bad, remedy, span));
                    })
                    .ok()
            }
        }

        impl DecodeSpec for $type {
            fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
                let YamlValue::Text(text) = &node.value else {
                    decoder.wrong_type(node, "a name");
                    return None;
                };
                // The exact location matters only if the name is wrong.
                Self::parse(text).ok().or_else(|| {
                    let span = decoder.content(node);
                    Self::read(text, span, decoder)
                })
            }
        }

        lowers! { $type => Self, |name| name.clone(); }
    )* };
}

names! {
    Name, "_";
    PlanId, "-";
    GateId, "-";
    EnvName, "_";
    SkillName, "-";
    ArgName, "-";
    RefId, "-";
}
