use super::{Decode, Decoder};
use crate::diag::{Code, Diagnostic};
use crate::name::{ArgName, BadName, EnvName, GateId, Name, PlanId, RefId, SkillName};
use crate::source::Span;
use crate::spec::yaml::{Node, Yaml};

use super::Key;

/// Notes a malformed name and, where a small change makes it well-formed, that change.
fn malformed(text: &str, bad: BadName, remedy: Option<String>, span: Span) -> Diagnostic {
    let mistake = Diagnostic::new(
        Code::NameMalformed,
        span,
        format!("`{text}` is not a name that can stand here"),
    );
    match remedy {
        Some(remedy) => mistake.help(format!("write `{remedy}`: {bad}")),
        None => mistake.help(bad.to_string()),
    }
}

/// Words of letters and digits, lower-case, joined by one character.
fn joined(text: &str, joint: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join(joint).to_ascii_lowercase()
}

/// Reads name types, each with the character that joins words in it.
macro_rules! names {
    ($($type:ty, $joint:literal;)*) => { $(
        impl Key for $type {
            fn read(text: &str, span: Span, decoder: &mut Decoder<'_>) -> Option<Self> {
                Self::parse(text)
                    .map_err(|bad| {
                        let better = joined(text, $joint);
                        let remedy = Self::parse(&better).is_ok().then_some(better);
                        decoder.note(malformed(text, bad, remedy, span));
                    })
                    .ok()
            }
        }

        impl Decode for $type {
            fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
                let Yaml::Text(text) = &node.value else {
                    decoder.wrong_type(node, "a name");
                    return None;
                };
                // Where exactly it stands matters only if it is wrong.
                Self::parse(text).ok().or_else(|| {
                    let span = decoder.content(node);
                    Self::read(text, span, decoder)
                })
            }
        }
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
