//! Types whose values are written as one of a set of words.
//!
//! The words of a type are declared once, beside it, with [`keywords!`](crate::keywords): its text, its decoder
//! and its JSON Schema follow from the declaration.

/// A type whose values are written as one of a set of words.
pub trait Keyword: Copy + 'static {
    /// Every value, in the order of the declaration.
    const ALL: &'static [Self];

    /// Returns the word of a value.
    fn word(self) -> &'static str;

    /// Returns the value of a word.
    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.word() == word)
    }
}

/// Declares the words of an enum: its `as_str`, its [`Keyword`] and its JSON Schema, which lists them.
///
/// With `described`, the enum derives a JSON Schema that also describes each word.
#[macro_export]
macro_rules! keywords {
    (described $type:ident { $($value:ident => $word:literal),* $(,)? }) => {
        impl $type {
            /// Returns its word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word),*
                }
            }
        }

        impl $crate::keyword::Keyword for $type {
            const ALL: &'static [Self] = &[$(Self::$value),*];

            fn word(self) -> &'static str {
                self.as_str()
            }
        }
    };
    ($type:ident { $($value:ident => $word:literal),* $(,)? }) => {
        $crate::keywords!(described $type { $($value => $word),* });

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
