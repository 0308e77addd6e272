use std::sync::Arc;

use super::{Summary, Taint};
use crate::expr::Ref;

/// What a plan says about where values go, free of all else.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The parameters, and how far each is trusted.
    pub params: Vec<(String, Taint)>,
    /// The steps; each comes after those that it reads from. One that can be done in several ways
    /// is there once for each.
    pub steps: Vec<StepFlow>,
    /// What the plan gives: the name, and what it is made of.
    pub outputs: Vec<(String, Vec<Ref>)>,
}

/// What a step says about where values go.
#[derive(Clone, Debug)]
pub struct StepFlow {
    /// Its id.
    pub id: String,
    /// Over what it is repeated.
    pub each: Vec<Ref>,
    /// What its work is given.
    pub reads: Vec<Ref>,
    /// How it makes what it gives.
    pub made: Made,
    /// The outputs that are declared to come from outside.
    pub external: Vec<String>,
}

/// How a step makes what it gives.
#[derive(Clone, Debug)]
pub enum Made {
    /// By a request.
    Request,
    /// By a program that nothing confines. It is given every parameter.
    Free,
    /// By a program in a sandbox. It is given every parameter.
    Confined {
        /// Whether it has a network.
        net: bool,
    },
    /// By another plan.
    Nested {
        /// The path of its file.
        path: String,
        /// What follows from it; `None` if it is not known.
        summary: Option<Arc<Summary>>,
        /// Its parameters, and what each is made of.
        with: Vec<(String, Vec<Ref>)>,
    },
    /// By people, who were shown it and agreed.
    Decided,
    /// It makes nothing.
    Nothing,
}
