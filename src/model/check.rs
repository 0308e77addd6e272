use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CheckPhase, ClassRule, EnvVar, Limits, Schema, Script};
use crate::expr::Template;
use crate::name::Name;

/// One criterion: a probe that runs outside the worker, and what it must find.
#[derive(Clone, Debug)]
pub struct Check {
    /// The name of the criterion, unique among those of all phases.
    pub name: Name,
    /// When it is asked.
    pub phase: CheckPhase,
    /// What is run; `None`: nothing, the expectations look at files alone.
    pub probe: Option<Probe>,
    /// What must be found. All of it.
    pub expect: Expect,
    /// Variables the probe may see besides `PATH`, `HOME` and the parameters.
    pub env: Vec<EnvVar>,
    /// Where it runs, relative to the workspace; `None`: its root.
    pub cwd: Option<String>,
    /// The longest it may take.
    pub timeout: Duration,
    /// Whether the probe has a network.
    pub network: bool,
    /// How much a pass says.
    pub mode: Mode,
    /// Files and folders that the probe may read besides the workspace: relative to the
    /// workspace, absolute, or below the home folder (`~/…`). Never with `..`.
    pub read: Vec<String>,
    /// How much the probe may use.
    pub limits: Limits,
    /// Globs of files that no step may change or add, whatever steps declare; relative to the
    /// workspace.
    pub fixed: Vec<String>,
    /// What decides the class of a failure before the built-in table does.
    pub classify: Vec<ClassRule>,
}

impl Check {
    /// A criterion that runs nothing and expects nothing.
    pub fn new(name: Name) -> Self {
        Self {
            name,
            phase: CheckPhase::default(),
            probe: None,
            expect: Expect::default(),
            env: Vec::new(),
            cwd: None,
            timeout: Duration::from_mins(1),
            network: false,
            mode: Mode::default(),
            read: Vec::new(),
            limits: Limits::default(),
            fixed: Vec::new(),
            classify: Vec::new(),
        }
    }
}

/// How much the pass of a check says.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The criterion holds: whoever asks again finds the same.
    #[default]
    Verifiable,
    /// It seems to hold: a judgement that may turn out otherwise.
    Plausible,
}

impl Mode {
    /// Whether this is what is meant where nothing is said.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a check runs.
#[derive(Clone, Debug)]
pub enum Probe {
    /// A script, given to a shell as it stands.
    Run(Script),
    /// A program and its arguments, without a shell.
    Exec(Vec<Template>),
}

/// What a check must find. Every expectation that is given must hold; if none speaks of the exit
/// code, it must be zero.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// The exit code of the probe.
    pub exit_code: Option<i32>,
    /// Standard output, without trailing line ends, is this text.
    pub equals: Option<String>,
    /// Standard output contains this text.
    pub contains: Option<String>,
    /// Some part of standard output matches this regular expression.
    pub regex: Option<regex::Regex>,
    /// Standard output is a number below this one.
    pub output_lt: Option<f64>,
    /// Standard output is a number above this one.
    pub output_gt: Option<f64>,
    /// These paths, inside the workspace, are files.
    pub file_exists: Vec<String>,
    /// Standard output has more than white space, or has not.
    pub not_empty: Option<bool>,
    /// Comparisons of values inside standard output read as JSON.
    pub json: Vec<JsonExpect>,
    /// Standard output, read as JSON, satisfies this schema.
    pub json_schema: Option<Schema>,
}

impl Expect {
    /// Whether files are all it looks at, so that nothing need be run.
    pub fn is_files_only(&self) -> bool {
        let output = self.exit_code.is_some()
            || self.equals.is_some()
            || self.contains.is_some()
            || self.regex.is_some()
            || self.output_lt.is_some()
            || self.output_gt.is_some()
            || self.not_empty.is_some()
            || !self.json.is_empty()
            || self.json_schema.is_some();
        !output && !self.file_exists.is_empty()
    }
}

/// A comparison of what a JSON path (RFC 9535) selects. Every comparison that is given must hold.
#[derive(Clone, Debug)]
pub struct JsonExpect {
    /// The path.
    pub path: String,
    /// It selects exactly one value, equal to this one.
    pub equals: Option<Value>,
    /// It selects exactly one number, below this one.
    pub lt: Option<f64>,
    /// It selects exactly one number, above this one.
    pub gt: Option<f64>,
    /// It selects something, or nothing.
    pub exists: Option<bool>,
    /// It selects this many values.
    pub count: Option<usize>,
}
