use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::{
    checks::phase::CheckPhase,
    expr::Template,
    failures::retry::{FailureClassRule, show_failure_rules},
    json::schema::ValueSchema,
    programs::{
        sandbox::ResourceLimits,
        script::{EnvVar, ShellScript},
    },
    summary::{RecordView, SummaryBuilder, shell_words},
};
use wf_base::{keywords, name::Name};

/// One criterion: a probe running outside the worker, and the expected result.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// The name of the criterion, unique among those of all phases.
    pub name: Name,
    /// The phase where it runs.
    pub phase: CheckPhase,
    /// The probe to run; `None`: the expectations concern files alone.
    pub probe: Option<CheckProbe>,
    /// The expectations. All of them must be met.
    pub expect: Expectation,
    /// Variables the probe may see in addition to `PATH`, `HOME` and the parameters.
    pub env: Vec<EnvVar>,
    /// Its working directory, relative to the workspace; `None`: its root.
    pub cwd: Option<String>,
    /// The maximum time it may take.
    #[serde(skip)]
    pub timeout: Duration,
    /// True if the probe has network access.
    pub network: bool,
    /// The significance of a pass.
    pub mode: CheckCertainty,
    /// Files and folders the probe may read in addition to the workspace: relative to the
    /// workspace, absolute, or below the home folder (`~/…`). Never with `..`.
    pub read: Vec<String>,
    /// The limits of the probe.
    pub limits: ResourceLimits,
    /// Globs of files no step may change or add, even if steps declare them; relative to the
    /// workspace.
    pub fixed: Vec<String>,
    /// The rules for the class of a failure, applied before the built-in table.
    #[serde(skip)]
    pub classify: Vec<FailureClassRule>,
    /// The result it must have before the work; `None`: it is not run then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ResultBefore>,
    /// The models that judge the output of the probe once all expectations are met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<CheckJudge>,
}

/// Checks, each below its phase and its name.
pub(crate) fn show_checks(checks: &[Check], summary: &mut SummaryBuilder) {
    for check in checks {
        let key = format!("{}.{}", check.phase.as_str(), check.name);
        lines!(summary in Proof { guard (&key) = "a check that must pass" });
        summary.below(&key, |summary| check.view(summary));
    }
}

view! { check: Check in Work {
    least mode in Proof = certainty_text(*mode); *mode == CheckCertainty::Verifiable,
    own probe = RecordView::view,
    whole expect = show_expected,
    plain env,
    plain cwd,
    most timeout in Effort = probe.as_ref().map(|_| timeout),
    most network in Reach = probe.as_ref().map(|_| network); !network,
    grant read in Reach as "allow.read",
    below limits,
    guard fixed in Proof,
    guard before in Proof = before.map(ResultBefore::as_str),
    own classify = show_failure_rules,
    below judge,
} aside name, phase }

fn certainty_text(certainty: CheckCertainty) -> (&'static str, f64) {
    match certainty {
        CheckCertainty::Verifiable => ("verifiable: repeating it gives the same result", 1.0),
        CheckCertainty::Plausible => ("plausible: a judgement; repeating it may give another result", 0.0),
    }
}

fn show_expected(check: &Check, summary: &mut SummaryBuilder) {
    match check.probe {
        Some(_) => show_expectations(&check.expect, summary),
        None => lines!(summary in Proof { below "expect" = &check.expect }),
    }
}

/// The judgement of a model on the output of a check's probe, by criteria in prose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckJudge {
    /// The role of the model.
    pub role: Name,
    /// The criteria. Each of them must hold.
    pub criteria: Vec<String>,
    /// The maximum number of votes.
    pub votes: u32,
    /// The number of votes each criterion needs.
    pub required: u32,
}

// The model that judges the output of a check.
view! { judge: CheckJudge in Proof {
    plain role,
    plain votes,
    least required,
    guard criteria,
} }

impl Check {
    /// Returns a criterion that runs nothing and expects nothing.
    pub fn new(name: Name) -> Self {
        Self {
            name,
            phase: CheckPhase::default(),
            probe: None,
            expect: Expectation::default(),
            env: Vec::new(),
            cwd: None,
            timeout: Duration::from_mins(1),
            network: false,
            mode: CheckCertainty::default(),
            read: Vec::new(),
            limits: ResourceLimits::default(),
            fixed: Vec::new(),
            classify: Vec::new(),
            before: None,
            judge: None,
        }
    }

    /// True if it is run on the workspace before the work: it must fail there, or its tests are counted.
    pub fn is_run_before(&self) -> bool {
        let counts = self.expect.tests.as_ref().is_some_and(|tests| tests.at_least == LeastTests::Before);
        self.before.is_some() || counts
    }
}

keywords! {
    /// The significance of a check's pass.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckCertainty {
        /// The criterion passes: the same check run again finds the same.
        #[default]
        Verifiable = "verifiable",
        /// The criterion seems to pass: a judgement that may be revised.
        Plausible = "plausible",
    }
}

impl CheckCertainty {
    /// True if this is the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

keywords! {
    /// The result that a check must have before the work.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ResultBefore {
        /// It does not pass, so its pass shows something.
        Fails = "fails",
    }
}

/// The program or script a check runs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckProbe {
    /// A script, passed verbatim to a shell.
    Run(ShellScript),
    /// A program and its arguments, without a shell.
    Exec(Vec<Template>),
}

impl RecordView for CheckProbe {
    fn view(&self, summary: &mut SummaryBuilder) {
        match self {
            Self::Run(script) => script.view(summary),
            Self::Exec(words) => show_argv(words, summary),
        }
    }
}

/// A program and its arguments.
pub(crate) fn show_argv(templates: &[Template], summary: &mut SummaryBuilder) {
    lines!(summary in Work { plain "exec" = shell_words(templates.iter().map(Template::source)) });
}

/// The expected result of a check. Every expectation that is given must be met; if none names the
/// exit code, it must be zero.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Expectation {
    /// The exit code of the probe.
    pub exit_code: Option<i32>,
    /// Standard output, without trailing line ends, is this text.
    pub equals: Option<String>,
    /// Standard output contains this text.
    pub contains: Option<String>,
    /// Some part of standard output matches this regular expression.
    #[serde(serialize_with = "pattern")]
    pub regex: Option<regex::Regex>,
    /// Standard output is a number below this one.
    pub output_lt: Option<f64>,
    /// Standard output is a number above this one.
    pub output_gt: Option<f64>,
    /// These paths, inside the workspace, are files.
    pub file_exists: Vec<String>,
    /// Standard output has more than white space, or only white space.
    pub not_empty: Option<bool>,
    /// Comparisons of values inside standard output read as JSON.
    pub json: Vec<JsonExpectation>,
    /// Standard output, read as JSON, satisfies this schema.
    pub json_schema: Option<ValueSchema>,
    /// A report of tests has enough passed ones, and no failed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestExpectation>,
}

/// The expected numbers of a report of tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TestExpectation {
    /// The file in the folder `$WF_REPORTS` the probe writes; `None`: its standard output.
    pub report: Option<String>,
    /// The least number of tests that pass.
    pub at_least: LeastTests,
}

/// The least number of tests that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeastTests {
    /// A number.
    Number(u32),
    /// The number that passed before the work, at least one. No further test is skipped.
    Before,
}

impl std::fmt::Display for LeastTests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Before => f.write_str("before"),
        }
    }
}

// The expected numbers of a report of tests.
view! { tests: TestExpectation in Proof {
    guard report = report.as_deref().unwrap_or("standard output"),
    guard at_least = at_least.to_string(),
} }

/// The expectations of what a process does.
pub(crate) fn show_expectations(expect: &Expectation, summary: &mut SummaryBuilder) {
    lines!(summary in Proof {
        guard "expect.exit_code" = expect.exit_code.unwrap_or(0).to_string(); expect.exit_code.is_none(),
        below "expect" = expect,
    });
}

view! { expect: Expectation in Proof {
    guard equals = equals.as_deref().map(Value::from),
    guard contains = contains.as_deref().map(Value::from),
    guard regex = regex.as_ref().map(ToString::to_string),
    most output_lt,
    least output_gt,
    guard not_empty,
    guard json_schema,
    guard file_exists,
    own json = show_json_expectations,
    below tests,
} aside exit_code }

/// Serializes a regular expression as it is written.
#[expect(clippy::ref_option, reason = "serde passes it in this form")]
fn pattern<S: Serializer>(regex: &Option<regex::Regex>, serializer: S) -> Result<S::Ok, S::Error> {
    regex.as_ref().map(regex::Regex::as_str).serialize(serializer)
}

impl Expectation {
    /// True if it needs files alone, so nothing is run.
    pub fn is_files_only(&self) -> bool {
        let output = self.exit_code.is_some()
            || self.equals.is_some()
            || self.contains.is_some()
            || self.regex.is_some()
            || self.output_lt.is_some()
            || self.output_gt.is_some()
            || self.not_empty.is_some()
            || !self.json.is_empty()
            || self.json_schema.is_some()
            || self.tests.is_some();
        !output && !self.file_exists.is_empty()
    }
}

/// A comparison of the values selected by a JSON path (RFC 9535). Every given comparison must pass.
#[derive(Clone, Debug, Serialize)]
pub struct JsonExpectation {
    /// The path.
    pub path: String,
    /// It selects exactly one value, equal to this one.
    pub equals: Option<Value>,
    /// It selects exactly one number, below this one.
    pub lt: Option<f64>,
    /// It selects exactly one number, above this one.
    pub gt: Option<f64>,
    /// It selects at least one value, or none.
    pub exists: Option<bool>,
    /// It selects this many values.
    pub count: Option<usize>,
}

/// Comparisons, each of what a JSON path selects.
pub(crate) fn show_json_expectations(expectations: &[JsonExpectation], summary: &mut SummaryBuilder) {
    for comparison in expectations {
        summary.below(&format!("json[{}]", comparison.path), |summary| comparison.view(summary));
    }
}

view! { comparison: JsonExpectation in Proof {
    guard equals,
    most lt,
    least gt,
    guard exists,
    guard count,
} aside path }
