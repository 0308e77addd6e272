use super::foreign;
use crate::expr::Template;
use crate::source::Spanned;
use crate::spec::decode::{Glob, record};

record! {
    /// What a step's result depends on and consists of, so that it may be reused.
    pub struct Cache as "a cache" {
        /// Globs of the files that the step reads.
        required inputs: Vec<Spanned<Glob>>,
        /// Globs of the files that the step writes; a reuse puts them back. They may be
        /// templates, and are where the step is repeated, so that each item has its own.
        default outputs: Vec<Spanned<Template>>,
    }
    foreign foreign::CACHE;
}
