use super::ExpectationSpec;
use crate::{
    ast::parts::{CheckAllowSpec, ClassifyRuleSpec, LimitsSpec, ShellSpec, foreign, sound},
    decode::{
        DurationText, MappingFields, OrderedEntries, PathGlob, SpecDecoder, WorkspacePath, record, words,
    },
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{EnvName, Name},
    source::{Span, Spanned},
};
use wf_model::{
    CheckCertainty, LeastTests, ResultBefore,
    expr::{ExprReference, Template},
};

record! {
    /// One criterion: something that is run outside the worker, and the expected result.
    pub struct CheckSpec as "a check" {
        /// The name of the criterion, unique among its siblings.
        required name: Spanned<Name>,
        /// A script, passed to a shell unchanged.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell.
        optional exec: Spanned<Vec<Template>>,
        /// The shell that reads the script: `sh` if absent.
        optional shell: Box<Spanned<ShellSpec>>,
        /// The expected result; unless it has an exit code, that must be 0.
        optional expect: Box<ExpectationSpec>,
        /// Variables that the check sees besides `PATH`, `HOME` and the parameters.
        default env: OrderedEntries<EnvName, Template>,
        /// The working directory, relative to the workspace.
        optional cwd: Box<Spanned<WorkspacePath>>,
        /// The time limit: 60 s if absent.
        optional timeout: Spanned<DurationText>,
        /// True to allow network access: `false` if absent.
        default network: bool,
        /// The strength of a pass: `verifiable` if absent.
        default mode: CheckCertainty,
        /// The permissions beyond the workspace.
        optional allow: Box<CheckAllowSpec>,
        /// The resource limits.
        optional limits: Box<LimitsSpec>,
        /// Globs of files that no step may change or add, whatever steps declare.
        default fixed: Vec<Spanned<PathGlob>>,
        /// The result that it must have before the work of its step: `fails`, or the attempt does not begin.
        optional before: Spanned<ResultBefore>,
        /// The rules for the class of a failure, before the built-in table; the first matching one
        /// applies.
        default classify: Vec<ClassifyRuleSpec>,
        /// The model that judges the output; needs `mode: plausible`.
        optional judge: Box<JudgeSpec>,
    }
    instead { "net" => "write `network: true`" }
    foreign foreign::CHECK;
    finish has_probe;
}

words!(CheckCertainty);

words!(ResultBefore);

record! {
    /// A model that judges the output of a check, by criteria in prose.
    pub struct JudgeSpec as "the `judge` of a check" {
        /// The role, which `wf.yaml` gives a model.
        required role: Spanned<Name>,
        /// The criteria, each a sentence; each of them must hold.
        required criteria: Spanned<Vec<Spanned<String>>>,
        /// The maximum number of votes, from 1 to 9: 1 if absent.
        optional votes: Spanned<u32>,
        /// The number of votes that each criterion needs: more than half if absent.
        optional required: Spanned<u32>,
    }
    instead {
        "model" => "write `role: judge`, and give the role a model in `wf.yaml`",
        "prompt" => "write `criteria`: a list of sentences that must be true",
    }
    finish can_decide;
}

/// The largest number of votes.
const MOST_VOTES: u32 = 9;

/// Notes a judge without criteria, and votes that can decide nothing.
fn can_decide(judge: &mut JudgeSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if judge.criteria.value.is_empty() {
        let message = "the list is empty: a judge needs a criterion";
        decoder.emit(Diagnostic::new(Code::ValueWrong, judge.criteria.span, message));
    }
    for criterion in judge.criteria.value.iter().filter(|criterion| criterion.value.trim().is_empty()) {
        decoder.emit(Diagnostic::new(Code::ValueWrong, criterion.span, "the criterion is empty"));
    }
    if let Some(votes) = judge.votes.as_ref().filter(|votes| !(1..=MOST_VOTES).contains(&votes.value)) {
        let message = format!("`votes` must be a number from 1 to {MOST_VOTES}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, votes.span, message));
    }
    let votes = judge.votes.as_ref().map_or(1, |votes| votes.value);
    if let Some(required) = judge.required.as_ref().filter(|required| !(1..=votes).contains(&required.value))
    {
        let message = format!("`required` must be a number from 1 to the number of `votes`, {votes}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, required.span, message));
    }
}

/// A check runs one thing; it may run nothing only if it checks nothing but files.
fn has_probe(check: &mut CheckSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(check.timeout.as_ref(), decoder);
    sound::check_reserved_names(&check.env, decoder);
    let argv = check.exec.as_ref().map(|exec| exec.len());
    sound::check_program(argv, fields.key("exec"), decoder);
    if let Some(judge) = fields.has("judge").then(|| fields.key("judge")) {
        check_judge(check, judge, fields, decoder);
    }
    check_before(check, fields, decoder);
    let at = check.name.span;
    let files_only = check.expect.as_ref().is_some_and(|expect| expect.is_files_only());
    if fields.has("run") && fields.has("exec") {
        let message = format!("check `{}` has both `run` and `exec`", check.name.value);
        decoder.emit(Diagnostic::new(Code::ExecutorTwice, at, message).with_help("keep one of them"));
    } else if !fields.has("run") && !fields.has("exec") && !files_only {
        let message = format!("check `{}` has no command", check.name.value);
        let help = "add `run` or `exec`, or use only `file_exists` in `expect`";
        decoder.emit(Diagnostic::new(Code::ExecutorMissing, at, message).with_help(help));
    }
}

impl CheckSpec {
    /// True if it is run before the work, too.
    fn is_run_before(&self) -> bool {
        let tests = self.expect.as_ref().and_then(|expect| expect.tests.as_ref());
        self.before.is_some() || tests.is_some_and(|tests| tests.at_least.0 == LeastTests::Before)
    }
}

/// Notes a check unable to run before the work, because of its reads or its judge.
fn check_before(check: &CheckSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if !check.is_run_before() {
        return;
    }
    let key = if check.before.is_some() { "before" } else { "expect" };
    let mut refuse = |message: &str, help: &str| {
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.key(key), message).with_help(help));
    };
    if check.judge.is_some() {
        refuse(
            "a judge may find otherwise next time: that it fails before the work shows nothing",
            "remove `judge`, or `before`",
        );
    }
    let values = check.env.iter().map(|(_, value)| value);
    let templates = values.chain(check.exec.iter().flat_map(|exec| &exec.value));
    let mut read = templates.flat_map(Template::refs).map(|read| &read.name);
    if read.any(|name| matches!(name, ExprReference::Output { .. } | ExprReference::StepStatus(_))) {
        refuse(
            "the check is run before the work, when the outputs of steps may not be known",
            "let it read files and parameters alone",
        );
    }
}

/// Notes checks that would be run before the work where there is none: those of a plan or of a goal.
pub(in crate::ast) fn refuse_before<'a>(
    checks: impl IntoIterator<Item = &'a CheckSpec>,
    decoder: &mut SpecDecoder<'_>,
) {
    for check in checks.into_iter().filter(|check| check.is_run_before()) {
        let message = format!("check `{}` has no work that it could be run before", check.name.value);
        let mistake = Diagnostic::new(Code::ValueWrong, check.name.span, message);
        decoder.emit(mistake.with_help(
            "`before: fails` and `at_least: before` are for the checks of a step; move it there, or give a number",
        ));
    }
}

/// Notes a judge in `verify`, and one with nothing to judge.
fn check_judge(check: &CheckSpec, at: Span, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    if check.mode != CheckCertainty::Plausible {
        let message = "a judge does not verify: what it passes is plausible";
        decoder.emit(Diagnostic::new(Code::ValueWrong, at, message).with_help("add `mode: plausible`"));
    }
    if !fields.has("run") && !fields.has("exec") {
        let message = "a judge has nothing to judge: its evidence is the output of the check";
        let help = "add `run` or `exec`, for example `run: cat out/report.md`";
        decoder.emit(Diagnostic::new(Code::KeyMissing, at, message).with_help(help));
    }
}
