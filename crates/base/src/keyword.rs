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

/// Declares an enum with a word for each value: its `as_str`, its text and its [`Keyword`].
///
/// An enum that is `listed` also has a JSON Schema listing its words. Others derive one describing each word, or
/// have none.
#[macro_export]
macro_rules! keywords {
    (listed $(#[$meta:meta])* $vis:vis enum $type:ident $values:tt) => {
        $crate::keywords! { $(#[$meta])* $vis enum $type $values }

        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                let words = <Self as $crate::keyword::Keyword>::ALL.iter().map(|value| value.as_str());
                ::schemars::json_schema!({ "enum": words.collect::<Vec<_>>() })
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $type:ident {
        $($(#[$note:meta])* $value:ident = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$note])* $value),*
        }

        impl $type {
            /// Returns its word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word),*
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl $crate::keyword::Keyword for $type {
            const ALL: &'static [Self] = &[$(Self::$value),*];

            fn word(self) -> &'static str {
                self.as_str()
            }
        }
    };
}
