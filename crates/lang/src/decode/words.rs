use super::SpecDecoder;
use crate::yaml::{YamlNode, YamlValue};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    keyword::Keyword,
};

/// Reads one of the words of a type.
pub fn word<T: Keyword>(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<T> {
    let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
    one_of(node, &words, decoder).and_then(T::from_word)
}

pub fn one_of<'w>(node: &YamlNode<'_>, words: &[&'w str], decoder: &mut SpecDecoder<'_>) -> Option<&'w str> {
    let YamlValue::Text(text) = &node.value else {
        let list: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        decoder.wrong_type(node, &list.join(" or "));
        return None;
    };
    let exact = words.iter().find(|word| *word == text);
    if let Some(word) = exact {
        return Some(word);
    }
    let span = decoder.content(node);
    let mistake = Diagnostic::new(Code::ValueWrong, span, format!("invalid value `{text}`"));
    decoder.emit(match nearest(text, words.iter().copied()) {
        Some(near) => mistake.with_suggestion(Some(near)),
        None => mistake.with_help(format!("use {}", words.join(" or "))),
    });
    None
}

/// Lets the values of a [`Keyword`] be written as their words.
#[macro_export]
macro_rules! words {
    ($($type:ty),+ $(,)?) => { $(
        impl $crate::decode::DecodeSpec for $type {
            fn decode(
                node: &$crate::yaml::YamlNode<'_>,
                decoder: &mut $crate::decode::SpecDecoder<'_>) -> Option<Self> {
                $crate::decode::word(node, decoder)
            }
        }

        $crate::decode::lowers! { $type => Self, |word| *word; }
    )+ };
}

pub use words;
