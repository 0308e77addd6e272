use crate::{
    machine::{CheckRuling, CheckVerdict, WorkExit},
    verify::{
        classify::{class_by_rules, classify},
        output,
        output::{ExpectationMiss, evidence, line},
    },
};
use wf_base::name::Name;
use wf_model::{CheckCertainty, CheckPhase, Expectation, FailureClass, FailureClassRule};

/// The ruling on one criterion, before it is given a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionJudgement {
    pub ruling: CheckRuling,
    /// The expectation, in one short line; empty if it passed.
    pub expected: String,
    /// The finding, in one short line; empty if it passed.
    pub found: String,
    /// The output of the probe, at most [`REASON_LIMIT`](crate::machine::REASON_LIMIT) characters.
    pub evidence: String,
    pub failure_class: Option<FailureClass>,
}

impl CriterionJudgement {
    /// Returns the verdict on a criterion whose probe took this long.
    pub fn verdict(self, name: Name, certainty: CheckCertainty, duration_ms: u64) -> CheckVerdict {
        CheckVerdict {
            name,
            phase: CheckPhase::default(),
            ruling: self.ruling,
            expected: self.expected,
            found: self.found,
            evidence: self.evidence,
            failure_class: self.failure_class,
            duration_ms,
            certainty,
            isolation: None,
            hidden: Vec::new(),
            changes: None,
            changed_inputs: Vec::new(),
            foreign_changes: None,
            is_unbounded: false,
            tests: None,
            before: None,
            judgement: None,
        }
    }
}

/// Judges the findings against the expectations. The first expectation that fails, in the order of
/// [`Expectation`], gives the reason. The class of a failure is that of the first matching rule; else, if the
/// exit is the reason, that of [`classify()`].
pub fn judge(
    expect: &Expectation,
    findings: &ProbeFindings<'_>,
    rules: &[FailureClassRule],
) -> CriterionJudgement {
    let (ruling, expected, reason, failure_class) = match check_expectations(expect, findings) {
        Ok(()) => (CheckRuling::Pass, String::new(), String::new(), None),
        Err(ExpectationMiss::Wrong { expected, found, failure_class }) => {
            (CheckRuling::Fail, expected, found, Some(failure_class))
        }
        Err(ExpectationMiss::Unknown { expected, found, failure_class }) => {
            (CheckRuling::Error, expected, found, Some(failure_class))
        }
    };
    let by_rule = |exit| class_by_rules(exit, findings.out_end, findings.err_end, rules);
    let failure_class =
        failure_class.map(|failure_class| findings.exit.and_then(by_rule).unwrap_or(failure_class));
    CriterionJudgement {
        ruling,
        expected: line(&expected),
        found: line(&reason),
        evidence: evidence(findings.stdout, findings.stderr),
        failure_class,
    }
}

fn check_expectations(expect: &Expectation, findings: &ProbeFindings<'_>) -> Result<(), ExpectationMiss> {
    check_file_only(expect, findings)?;
    exit_code(expect.exit_code, findings)?;
    files(&expect.file_exists, findings.files)?;
    output::all(expect, findings)
}

/// Checks that, without a probe, files are expected and nothing else.
fn check_file_only(expect: &Expectation, findings: &ProbeFindings<'_>) -> Result<(), ExpectationMiss> {
    if findings.exit.is_some() || expect.is_files_only() {
        return Ok(());
    }
    let expected = "something to judge".into();
    Err(unknown(expected, "nothing was executed".into(), Some(FailureClass::Logical)))
}

/// Checks the exit code. One asked for is right whatever it is; any other that means that nothing ran is no
/// answer to the question.
fn exit_code(code: Option<i32>, findings: &ProbeFindings<'_>) -> Result<(), ExpectationMiss> {
    let wanted = code.unwrap_or(0);
    let Some(exit) = findings.exit else {
        return Ok(());
    };
    let text = match exit {
        WorkExit::Code { code } if *code == wanted => return Ok(()),
        WorkExit::Completed if wanted == 0 => return Ok(()),
        WorkExit::Code { code: 126 } => "exit code 126: cannot be executed".to_owned(),
        WorkExit::Code { code: 127 } => "exit code 127: command not found".to_owned(),
        exit => exit.to_string(),
    };
    let expected = format!("exit code {wanted}");
    let failure_class = classify(exit, findings.out_end, findings.err_end, &[]);
    Err(match exit {
        WorkExit::Code { code: 126 | 127 } => unknown(expected, text, failure_class),
        WorkExit::Code { .. } | WorkExit::Completed => ExpectationMiss::Wrong {
            expected,
            found: text,
            failure_class: failure_class.unwrap_or(FailureClass::Logical),
        },
        _ => unknown(expected, text, failure_class),
    })
}

/// Returns a miss that could not be looked at; environmental unless another class is given.
fn unknown(expected: String, found: String, failure_class: Option<FailureClass>) -> ExpectationMiss {
    ExpectationMiss::Unknown {
        expected,
        found,
        failure_class: failure_class.unwrap_or(FailureClass::Environmental),
    }
}

fn files(paths: &[String], presence: &[FilePresence]) -> Result<(), ExpectationMiss> {
    for (at, path) in paths.iter().enumerate() {
        let expected = format!("the file {path}");
        match presence.get(at) {
            Some(FilePresence::Present) => {}
            Some(FilePresence::Absent) => {
                return output::wrong_result(expected, "no such file");
            }
            Some(FilePresence::Unknown(reason)) => {
                return Err(unknown(expected, reason.clone(), None));
            }
            None => return Err(unknown(expected, "it was not checked".into(), None)),
        }
    }
    Ok(())
}

/// The findings of a check's probe, for judgement.
#[derive(Clone, Copy, Debug)]
pub struct ProbeFindings<'a> {
    /// The exit of the probe; `None`: the check has no probe and looks at files alone.
    pub exit: Option<&'a WorkExit>,
    /// The beginning of its standard output, as far as the caller keeps it.
    pub stdout: &'a [u8],
    /// The beginning of its standard error, for the evidence alone.
    pub stderr: &'a [u8],
    /// True if standard output went on after what is given here.
    pub truncated: bool,
    /// The end of its standard output, for the class of a failure.
    pub out_end: &'a [u8],
    /// The end of its standard error.
    pub err_end: &'a [u8],
    /// The result for each path of `file_exists`, in order.
    pub files: &'a [FilePresence],
}

/// The result of looking for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePresence {
    /// The path is a file.
    Present,
    /// The path is not a file.
    Absent,
    /// The path may not or cannot be looked at, for this reason.
    Unknown(String),
}
