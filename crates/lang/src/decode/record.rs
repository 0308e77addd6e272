use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{MappingFields, SpecDecoder};

/// A builder of the JSON Schema of a mapping with fixed keys.
#[derive(Debug)]
pub struct RecordSchema {
    about: String,
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl RecordSchema {
    /// Begins with the description of the mapping, by lines.
    pub fn new(about: &[&str]) -> Self {
        Self { about: prose(about), properties: Map::new(), required: Vec::new() }
    }

    /// Adds a key, its description and the type of its value.
    pub fn key<T: JsonSchema>(
        &mut self,
        key: &str,
        about: &[&str],
        needed: bool,
        generator: &mut SchemaGenerator,
    ) {
        let mut value = generator.subschema_for::<T>();
        value.insert("description".into(), prose(about).into());
        self.properties.insert(key.into(), value.to_value());
        if needed {
            self.required.push(key.into());
        }
    }

    /// Returns the schema.
    pub fn finish(self) -> Schema {
        let mut schema = json!({
            "description": self.about,
            "type": "object",
            "properties": self.properties,
            "additionalProperties": false,
        });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        Schema::try_from(schema).unwrap_or_default()
    }
}

/// Lets a function check the whole of a record.
#[inline]
pub fn finished<'n, 'a, T>(
    mut record: T,
    fields: &MappingFields<'n, 'a>,
    decoder: &mut SpecDecoder<'_>,
    finish: impl FnOnce(&mut T, &MappingFields<'n, 'a>, &mut SpecDecoder<'_>),
) -> T {
    finish(&mut record, fields, decoder);
    record
}

/// Joins documentation lines to one paragraph.
fn prose(lines: &[&str]) -> String {
    let words: Vec<_> = lines.iter().map(|line| line.trim()).collect();
    words.join(" ")
}

/// Returns the key of a field: a word of Rust is declared with `r#`.
pub const fn key_of(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// Declares a mapping with fixed keys, once: the struct, its `Decode` and its JSON Schema.
///
/// Each key has a mode: `required` (without it there is no record), `expected` (an `Option`, and its absence
/// a mistake), `optional` (an `Option`), `default` (the type's default if absent). `instead` gives advice for forbidden keys; `foreign` names a
/// table of the corresponding keys of other tools; `aside` adds fields without a key, set from
/// elsewhere; `finish` names a function that checks the whole; `blank` makes a constructor from the one
/// required key. `lowers` names a model with the same parts, and `completes` one with a value for each optional key.
#[macro_export]
macro_rules! record {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident as $what:literal {
            $( $(#[doc = $doc:literal])* $mode:ident $field:ident: $type:ty, )*
        }
        $(instead { $($other:literal => $help:literal),* $(,)? })?
        $(foreign $foreign:path;)?
        $(aside { $( $(#[doc = $note:literal])* $aside:ident: $kept:ty, )* })?
        $(finish $finish:path;)?
        $(blank $blank:ident($needed:ident: $needed_type:ty);)?
        $(lowers $model:path;)?
        $(completes $whole:path;)?
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $crate::record!(@type $mode $type), )*
            $($( $(#[doc = $note])* pub $aside: $kept, )*)?
        }

        impl $name {
            /// The allowed keys.
            pub const KEYS: &'static [&'static str] = &[$( $crate::decode::key_of(stringify!($field)), )*];

            $crate::record!(
                @constructor [$($blank $needed $needed_type)?] [$($mode $field)*] [$($($aside)*)?]
            );
        }

        impl $crate::decode::DecodeSpec for $name {
            const FIRST: &'static str = Self::KEYS[0];

            fn decode(
                node: &$crate::yaml::YamlNode<'_>,
                decoder: &mut $crate::decode::SpecDecoder<'_>) -> Option<Self> {
                let shape = $crate::decode::MappingShape {
                    noun: $what,
                    known: Self::KEYS,
                    replacements: &[$($(($other, $help)),*)?],
                    foreign: $crate::record!(@foreign $($foreign)?),
                };
                let fields = $crate::decode::MappingFields::open(shape, node, decoder)?;
                $( let $field = $crate::record!(@read $mode $field fields decoder); )*

                let made = Self {
                    $( $field: $crate::record!(@keep $mode $field), )*
                    $($( $aside: Default::default(), )*)?
                };
                $( let made = $crate::decode::finished(made, &fields, decoder, $finish); )?
                Some(made)
            }
        }

        $crate::record!(@lowers [$($model)?] $name [$($field)*]);
        $crate::record!(@completes [$($whole)?] $name [$($mode $field)*]);

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = $crate::decode::RecordSchema::new(&[$($about),*]);
                $( $crate::record!(@schema $mode $field $type, [$($doc),*], schema generator); )*
                schema.finish()
            }
        }
    };
    (@lowers [] $name:ident $fields:tt) => {};
    (@lowers [$model:path] $name:ident [$($field:ident)*]) => {
        $crate::decode::lowers! {
            $name => $model, |spec| { $model { $( $field: $crate::decode::LowerSpec::lower(&spec.$field), )* } };
        }
    };
    (@completes [] $name:ident $fields:tt) => {};
    (@completes [$model:path] $name:ident [$($mode:ident $field:ident)*]) => {
        impl $crate::decode::CompleteSpec for $name {
            type Model = $model;

            fn complete(&self, default_model: &$model) -> $model {
                $model { $( $field: $crate::record!(@complete $mode self default_model $field), )* }
            }
        }
    };
    (@complete optional $self:ident $default:ident $field:ident) => {
        match $crate::decode::LowerSpec::lower(&$self.$field) {
            Some(value) => value,
            None => Clone::clone(&$default.$field),
        }
    };
    (@complete $mode:ident $self:ident $default:ident $field:ident) => {
        $crate::decode::LowerSpec::lower(&$self.$field)
    };
    (@foreign) => { &[] };
    (@foreign $foreign:path) => { $foreign };
    (@constructor [] $fields:tt $asides:tt) => {};
    (
        @constructor [$blank:ident $needed:ident $type:ty] [$($mode:ident $field:ident)*] [$($aside:ident)*]
    ) => {
        /// Returns a record that has nothing but its required key.
        pub fn $blank($needed: $type) -> Self {
            Self {
                $( $field: $crate::record!(@blank $mode $field), )*
                $( $aside: Default::default(), )*
            }
        }
    };
    (@blank required $field:ident) => { $field };
    (@blank $mode:ident $field:ident) => { Default::default() };
    (@type required $type:ty) => { $type };
    (@type default $type:ty) => { $type };
    (@type expected $type:ty) => { Option<$type> };
    (@type optional $type:ty) => { Option<$type> };
    (@read required $field:ident $fields:ident $decoder:ident) => {
        $fields.require($crate::decode::key_of(stringify!($field)), $decoder)
    };
    (@read expected $field:ident $fields:ident $decoder:ident) => {
        $fields.require($crate::decode::key_of(stringify!($field)), $decoder)
    };
    (@read $mode:ident $field:ident $fields:ident $decoder:ident) => {
        $fields.take($crate::decode::key_of(stringify!($field)), $decoder)
    };
    (@keep required $field:ident) => { $field? };
    (@keep default $field:ident) => { $field.unwrap_or_default() };
    (@keep $mode:ident $field:ident) => { $field };
    (@schema $mode:ident $field:ident $type:ty, $doc:expr, $schema:ident $generator:ident) => {
        $schema.key::<$type>(
            $crate::decode::key_of(stringify!($field)), &$doc, $crate::record!(@needed $mode), $generator,
        )
    };
    (@needed required) => { true };
    (@needed expected) => { true };
    (@needed $mode:ident) => { false };
}

pub use record;
