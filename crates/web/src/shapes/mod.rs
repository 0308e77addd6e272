//! Every template with every shape of its view. Beside the templates, `samples/NAME.json` describes the view of each,
//! and `samples/parts` has their common parts:
//!
//! - `"key?"`: the value, or null; `"key~"`: the value, or no such key;
//! - `[value]`: a list with elements of each shape, or without any;
//! - `{"one of": [values]}`: each of them; `{"element": value}`: a list with one, of each shape;
//! - `{"just": value}`: this one, whatever is in it; `{"see": "NAME"}`: the sample of that name.
//!
//! Beside the whole sample, and one with as little as possible, a shape differs from a plain one in one place, so each branch of a template is rendered without a product of
//! all choices. Views are recorded while they are rendered: a key a template reads and no shape has is a mistake.

mod expand;
mod traced;

use expand::{resolve, shapes, sparse_shape, with_texts};
use traced::{KeyLookups, traced};

mod tests;
