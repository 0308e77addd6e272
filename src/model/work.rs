use std::sync::Arc;
use std::time::Duration;

use super::{Approve, Plan, SkillCall};
use crate::expr::Template;
use crate::name::{EnvName, Name};
use crate::time::Moment;

/// What a step executes.
#[derive(Clone, Debug)]
pub enum Work {
    /// A script, given to a shell as it stands.
    Run(Script),
    /// A program and its arguments, without a shell.
    Exec(Vec<Template>),
    /// A script of a skill, in the sandbox.
    Skill(Box<SkillCall>),
    /// A request.
    Http(Box<Http>),
    /// Another plan, as a nested run.
    Uses(Box<Uses>),
    /// Nothing but the passing of time or the coming of a file.
    Wait(Wait),
    /// A decision that people make.
    Approve(Box<Approve>),
}

/// A script and the shell that reads it.
#[derive(Clone, Debug)]
pub struct Script {
    /// The program and its arguments before the script, for example `["sh", "-c"]`.
    pub shell: Vec<String>,
    /// The script, never a template.
    pub text: String,
}

/// An environment variable.
#[derive(Clone, Debug)]
pub struct EnvVar {
    /// Its name.
    pub name: EnvName,
    /// Its value.
    pub value: Template,
}

/// An HTTP request and what its answer must be.
#[derive(Clone, Debug)]
pub struct Http {
    /// `GET`, `POST` …
    pub method: String,
    /// Where to.
    pub url: Template,
    /// Headers in order.
    pub headers: Vec<(String, Template)>,
    /// The body, if one is sent.
    pub body: Option<Template>,
    /// Accepted status codes; empty: any from 200 to 299.
    pub expect: Vec<u16>,
    /// Outputs by the JSON path of their value in the answer's body.
    pub outputs: Vec<(Name, String)>,
}

/// A nested plan.
#[derive(Clone, Debug)]
pub struct Uses {
    /// The plan, loaded with the one that uses it.
    pub plan: Arc<Plan>,
    /// The path it was loaded from, relative to the workspace.
    pub path: String,
    /// Its parameters.
    pub with: Vec<(Name, Template)>,
}

/// What is waited for.
#[derive(Clone, Debug)]
pub enum Wait {
    /// A while.
    For(Duration),
    /// An instant.
    Until(Moment),
    /// A file that exists, relative to the workspace.
    File(Template),
}
