//! The JSON Schema of what is written as a text with its own grammar. Numbers and booleans count as the text
//! they are written as.

use wf_base::inline_schema;

use super::{Expr, Template};

inline_schema!(Expr, "Expr", { "type": ["string", "number", "boolean"] });

inline_schema!(Template, "Template", { "type": ["string", "number", "boolean"] });
