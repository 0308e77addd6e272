use super::SpecDecoder;
use crate::yaml::{YamlNode, YamlValue};
use wf_base::diag::{Code, Diagnostic, nearest};

/// Reads one of a set of words; those of `later` are known but not implemented yet.
pub fn word<T: Clone>(
    node: &YamlNode<'_>,
    words: &[(&str, T)],
    later: &[&str],
    decoder: &mut SpecDecoder<'_>,
) -> Option<T> {
    let all = words.iter().map(|(word, _)| *word);
    let YamlValue::Text(text) = &node.value else {
        let list: Vec<_> = all.map(|word| format!("`{word}`")).collect();
        decoder.wrong_type(node, &list.join(" or "));
        return None;
    };
    let found = words.iter().find(|(word, _)| word == text);
    if let Some((_, value)) = found {
        return Some(value.clone());
    }
    let span = decoder.content(node);
    decoder.emit(if later.contains(&&**text) {
        let message = format!("`{text}` is not implemented yet");
        Diagnostic::new(Code::KindNotBuilt, span, message).with_help("remove it for now")
    } else {
        let mistake = Diagnostic::new(Code::ValueWrong, span, format!("invalid value `{text}`"));
        match nearest(text, all.clone()) {
            Some(near) => mistake.with_suggestion(Some(near)),
            None => mistake.with_help(format!("use {}", all.collect::<Vec<_>>().join(" or "))),
        }
    });
    None
}

/// Lets a type without fields be written as one of a set of words: its `Decode` and its JSON
/// Schema. With `known`, the type already has a JSON Schema, of the same words.
///
/// With `declared`, its [`Keyword`](wf_base::keyword::Keyword) has the words and the schema.
#[macro_export]
macro_rules! words {
    (declared $type:ty) => {
        impl $crate::decode::DecodeSpec for $type {
            fn decode(
                node: &$crate::yaml::YamlNode<'_>,
                decoder: &mut $crate::decode::SpecDecoder<'_>) -> Option<Self> {
                $crate::decode::word(node, <Self as ::wf_base::keyword::Keyword>::WORDS, &[], decoder)
            }
        }
    };
    (known $type:ty { $($word:literal => $value:expr),* $(,)? }) => {
        impl $crate::decode::DecodeSpec for $type {
            fn decode(
                node: &$crate::yaml::YamlNode<'_>,
                decoder: &mut $crate::decode::SpecDecoder<'_>) -> Option<Self> {
                $crate::decode::word(node, &[$(($word, $value)),*], &[], decoder)
            }
        }
    };
    ($type:ty { $($word:literal => $value:expr),* $(,)? } $(later { $($later:literal),* })?) => {
        impl $crate::decode::DecodeSpec for $type {
            fn decode(
                node: &$crate::yaml::YamlNode<'_>,
                decoder: &mut $crate::decode::SpecDecoder<'_>) -> Option<Self> {
                let later: &[&str] = &[$($($later),*)?];
                $crate::decode::word(node, &[$(($word, $value)),*], later, decoder)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "enum": [$($word),*] })
            }
        }
    };
}

pub use words;
