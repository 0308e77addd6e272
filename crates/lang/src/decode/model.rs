//! The models of declarations: the same values, without spans.

use std::time::Duration;

use serde_json::Value;

use super::{
    ArgumentTemplate, ByteSize, DurationText, FetchHostText, JsonPathText, OneOrMany, OrderedEntries,
    PathGlob, ReadablePath, RegexPattern, WorkspacePath, WritablePath,
};
use wf_base::source::Spanned;
use wf_model::{
    FetchHost, ItemKeyPath, ValueSchema,
    expr::{Expr, Template},
};

/// A declaration with a model of the same parts.
pub trait LowerSpec {
    type Model;

    /// Returns the model.
    fn lower(&self) -> Self::Model;
}

/// A declaration of some parts of a model.
pub trait CompleteSpec {
    type Model;

    /// Returns the model, with the parts of another one for absent keys.
    fn complete(&self, default_model: &Self::Model) -> Self::Model;
}

/// Lowers types to their models.
#[macro_export]
macro_rules! lowers {
    ($($type:ty $(where $($part:ident),+)? => $model:ty, |$spec:ident| $lower:expr;)+) => { $(
        impl $(<$($part: $crate::decode::LowerSpec),+>)? $crate::decode::LowerSpec for $type {
            type Model = $model;

            fn lower(&self) -> $model {
                let $spec = self;
                $lower
            }
        }
    )+ };
}

pub use lowers;

lowers! {
    Spanned<T> where T => T::Model, |spec| spec.value.lower();
    Box<T> where T => T::Model, |spec| T::lower(spec);
    Option<T> where T => Option<T::Model>, |spec| spec.as_ref().map(T::lower);
    Vec<T> where T => Vec<T::Model>, |spec| spec.iter().map(T::lower).collect();
    OneOrMany<T> where T => Vec<T::Model>, |spec| spec.0.lower();
    OrderedEntries<K, V> where K, V => Vec<(K::Model, V::Model)>,
        |spec| spec.iter().map(|(key, value)| (key.lower(), value.lower())).collect();
    bool => Self, |spec| *spec;
    u16 => Self, |spec| *spec;
    u32 => Self, |spec| *spec;
    u64 => Self, |spec| *spec;
    i32 => Self, |spec| *spec;
    f64 => Self, |spec| *spec;
    String => Self, |spec| spec.clone();
    Value => Self, |spec| spec.clone();
    Template => Self, |spec| spec.clone();
    Expr => Self, |spec| spec.clone();
    ItemKeyPath => Self, |spec| spec.clone();
    ValueSchema => Self, |spec| spec.clone();
    ArgumentTemplate => Template, |spec| spec.0.clone();
    ByteSize => u64, |spec| spec.0;
    DurationText => Duration, |spec| spec.0;
    FetchHostText => FetchHost, |spec| spec.0.clone();
    JsonPathText => String, |spec| spec.0.clone();
    PathGlob => String, |spec| spec.0.clone();
    ReadablePath => String, |spec| spec.0.clone();
    RegexPattern => regex::Regex, |spec| spec.0.clone();
    WorkspacePath => String, |spec| spec.0.clone();
    WritablePath => String, |spec| spec.0.clone();
}

impl<T: CompleteSpec<Model: Clone>> CompleteSpec for Option<T> {
    type Model = T::Model;

    fn complete(&self, default_model: &T::Model) -> T::Model {
        self.as_ref().map_or_else(|| default_model.clone(), |spec| spec.complete(default_model))
    }
}

impl<T: CompleteSpec> CompleteSpec for &T {
    type Model = T::Model;

    fn complete(&self, default_model: &T::Model) -> T::Model {
        T::complete(self, default_model)
    }
}
