use super::Decoder;
use crate::diag::{Code, Diagnostic, nearest};
use crate::spec::yaml::{Node, Yaml};

/// Reads one of some words; those of `later` are known and not built yet.
pub fn word<T: Clone>(
    node: &Node<'_>,
    words: &[(&str, T)],
    later: &[&str],
    decoder: &mut Decoder<'_>,
) -> Option<T> {
    let all = words.iter().map(|(word, _)| *word);
    let Yaml::Text(text) = &node.value else {
        let list: Vec<_> = all.map(|word| format!("`{word}`")).collect();
        decoder.wrong_type(node, &list.join(" or "));
        return None;
    };
    let found = words.iter().find(|(word, _)| word == text);
    if let Some((_, value)) = found {
        return Some(value.clone());
    }
    let span = decoder.content(node);
    decoder.note(if later.contains(&&**text) {
        let message = format!("`{text}` is known and not built yet");
        Diagnostic::new(Code::KindNotBuilt, span, message).help("remove it for now")
    } else {
        let mistake = Diagnostic::new(
            Code::ValueWrong,
            span,
            format!("`{text}` cannot stand here"),
        );
        match nearest(text, all.clone()) {
            Some(near) => mistake.meant(Some(near)),
            None => mistake.help(format!("use {}", all.collect::<Vec<_>>().join(" or "))),
        }
    });
    None
}

/// Lets a type without fields be written as one of some words: its `Decode` and its JSON Schema.
/// With `known`, the type has a JSON Schema already, of the same words.
macro_rules! words {
    (known $type:ty { $($word:literal => $value:expr),* $(,)? }) => {
        impl $crate::spec::decode::Decode for $type {
            fn decode(
                node: &$crate::spec::yaml::Node<'_>,
                decoder: &mut $crate::spec::decode::Decoder<'_>,
            ) -> Option<Self> {
                $crate::spec::decode::word(node, &[$(($word, $value)),*], &[], decoder)
            }
        }
    };
    ($type:ty { $($word:literal => $value:expr),* $(,)? } $(later { $($later:literal),* })?) => {
        impl $crate::spec::decode::Decode for $type {
            fn decode(
                node: &$crate::spec::yaml::Node<'_>,
                decoder: &mut $crate::spec::decode::Decoder<'_>,
            ) -> Option<Self> {
                let later: &[&str] = &[$($($later),*)?];
                $crate::spec::decode::word(node, &[$(($word, $value)),*], later, decoder)
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

pub(crate) use words;
