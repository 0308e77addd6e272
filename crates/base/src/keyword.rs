//! Types whose values are written as one of a set of words.
//!
//! The words of a type are declared once, beside it, with [`keywords!`](crate::keywords): its decoder and its
//! JSON Schema follow from the declaration.

/// A type whose values are written as one of a set of words.
pub trait Keyword: Clone + Sized + 'static {
    /// The words and their values.
    const WORDS: &'static [(&'static str, Self)];
}

/// Declares the words of a type: its [`Keyword`] and its JSON Schema, which lists them.
#[macro_export]
macro_rules! keywords {
    ($type:ty { $($word:literal => $value:expr),* $(,)? }) => {
        impl $crate::keyword::Keyword for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),*];
        }

        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "enum": [$($word),*] })
            }
        }
    };
}
