use crate::ast::parts::foreign;
use crate::decode::record;
use wf_base::source::Spanned;
use wf_model::expr::Template;

record! {
    /// The dependencies and the content of a step's result, so that it may be reused.
    pub struct CacheSpec as "a cache" {
        /// Globs of the files that the step reads. They may be templates.
        required inputs: Vec<Spanned<Template>>,
        /// Globs of the files that the step writes; a reuse restores them. They may be templates,
        /// and must be if the step is repeated, so that each item has its own.
        default outputs: Vec<Spanned<Template>>,
    }
    foreign foreign::CACHE;
}
