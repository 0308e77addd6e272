use super::{CheckAllowSpec, ClassifyRuleSpec, ExpectationSpec, LimitsSpec, ShellSpec, foreign, sound};
use crate::decode::{
    DurationText, MappingFields, OrderedEntries, PathGlob, SpecDecoder, WorkspacePath, record, words,
};
use wf_base::diag::{Code, Diagnostic};
use wf_base::name::{EnvName, Name};
use wf_base::source::Spanned;
use wf_model::CheckCertainty;
use wf_model::expr::Template;

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
        /// The rules for the class of a failure, before the built-in table; the first matching one
        /// applies.
        default classify: Vec<ClassifyRuleSpec>,
    }
    instead { "net" => "write `network: true`" }
    foreign foreign::CHECK;
    finish has_probe;
}

words!(CheckCertainty);

/// A check runs one thing; it may run nothing only if it checks nothing but files.
fn has_probe(check: &mut CheckSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    sound::check_nonzero_duration(check.timeout.as_ref(), decoder);
    sound::check_reserved_names(&check.env, decoder);
    let argv = check.exec.as_ref().map(|exec| exec.len());
    sound::check_program(argv, fields.key("exec"), decoder);
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
