//! The JSON Schema of what is written as a text with its own grammar.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Expr, Template};

/// Numbers and booleans count as the text they are written as.
fn scalar() -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}

impl JsonSchema for Expr {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Expr".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        scalar()
    }
}

impl JsonSchema for Template {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Template".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        scalar()
    }
}
