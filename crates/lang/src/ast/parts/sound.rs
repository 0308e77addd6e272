//! Rules several declarations share.

use super::PlanOutputSpec;
use crate::decode::{DurationText, MappingFields, OrderedEntries, PathGlob, SpecDecoder, record};
use wf_base::{
    diag::{Code, Diagnostic},
    name::{EnvName, Name},
    source::{Span, Spanned},
};
use wf_model::UNMEANT_PATHS;

/// Notes data covering everything.
pub(in crate::ast) fn check_data(data: &[Spanned<PathGlob>], decoder: &mut SpecDecoder<'_>) {
    let covers = |glob: &&Spanned<PathGlob>| {
        // `./**` covers as much as `**`.
        let parts = glob.value.0.split('/').filter(|part| *part != ".").collect::<Vec<_>>();
        let glob = globset::Glob::new(&parts.join("/")).map(|glob| glob.compile_matcher());
        glob.is_ok_and(|glob| UNMEANT_PATHS.iter().any(|path| glob.is_match(path)))
    };
    for glob in data.iter().filter(covers) {
        let message =
            format!("`{}` makes data of the whole workspace: an approval would bind nothing", glob.value.0);
        decoder.emit(
            Diagnostic::new(Code::ValueWrong, glob.span, message)
                .with_help("name the files or folders that are data"),
        );
    }
}

/// Notes a limit of zero.
pub(in crate::ast) fn at_least_one(limit: Option<&Spanned<u32>>, decoder: &mut SpecDecoder<'_>) {
    if let Some(limit) = limit.filter(|limit| limit.value == 0) {
        let message = "with a limit of 0, nothing would ever run";
        decoder.emit(Diagnostic::new(Code::ValueWrong, limit.span, message).with_help("write 1 or more"));
    }
}

/// Notes a duration of zero.
pub(in crate::ast) fn check_nonzero_duration(
    period: Option<&Spanned<DurationText>>,
    decoder: &mut SpecDecoder<'_>,
) {
    if let Some(period) = period.filter(|period| period.value.0.is_zero()) {
        let message = "a duration of 0 always expires";
        let help = "remove it for no limit";
        decoder.emit(Diagnostic::new(Code::ValueWrong, period.span, message).with_help(help));
    }
}

/// Notes a limit that leaves nothing.
pub(super) fn check_limit(is_nothing: bool, at: Span, decoder: &mut SpecDecoder<'_>) {
    if is_nothing {
        let message = "a limit of 0 always fails";
        let help = "remove it for the default limit";
        decoder.emit(Diagnostic::new(Code::ValueWrong, at, message).with_help(help));
    }
}

/// Notes an empty list of program and arguments.
pub(in crate::ast) fn check_program(parts: Option<usize>, at: Span, decoder: &mut SpecDecoder<'_>) {
    if parts == Some(0) {
        let message = "the list is empty: a program is required";
        decoder.emit(Diagnostic::new(Code::ValueWrong, at, message));
    }
}

/// Notes variables whose names are reserved for wf.
pub(in crate::ast) fn check_reserved_names<V>(
    env: &OrderedEntries<EnvName, V>,
    decoder: &mut SpecDecoder<'_>,
) {
    for (name, _) in env.iter() {
        if name.value.as_str().starts_with("WF_") {
            let message = format!("`{}` starts with `WF_`, which is reserved", name.value);
            decoder.emit(Diagnostic::new(Code::ValueWrong, name.span, message));
        }
    }
}

/// Notes outputs whose name has another meaning in the file a step writes them to.
pub(in crate::ast) fn check_output_names<V>(
    outputs: &OrderedEntries<Name, V>,
    decoder: &mut SpecDecoder<'_>,
) {
    for (name, _) in outputs.iter().filter(|(name, _)| name.value.as_str() == "mask") {
        let message = "an output cannot have the name `mask`: the line `mask=VALUE` hides a value in the log";
        decoder.emit(Diagnostic::new(Code::ValueWrong, name.span, message));
    }
}

/// Notes outputs of a plan with steps without value.
pub(in crate::ast) fn check_output_values(
    outputs: &OrderedEntries<Name, Spanned<PlanOutputSpec>>,
    decoder: &mut SpecDecoder<'_>,
) {
    for (_, output) in outputs.iter().filter(|(_, output)| output.value.value.is_none()) {
        let message = "an output of a plan requires the key `value`";
        decoder.emit(Diagnostic::new(Code::KeyMissing, output.span, message));
    }
}

/// Notes what is listed twice.
pub(in crate::ast) fn check_duplicates<T: PartialEq + std::fmt::Display>(
    noun: &str,
    listed: &[Spanned<T>],
    decoder: &mut SpecDecoder<'_>,
) {
    for (at, own) in listed.iter().enumerate() {
        if let Some(first) = listed.iter().take(at).find(|other| other.value == own.value) {
            let message = format!("the {noun} `{}` is listed twice", own.value);
            let mistake = Diagnostic::new(Code::DuplicateId, own.span, message);
            decoder.emit(mistake.with_related(first.span, "the other one is here"));
        }
    }
}

record! {
    /// The required approvals and their deadline.
    pub struct ApprovalNeedsSpec as "an approval" {
        /// The number of approvers who must agree: that of the workspace's policy if absent.
        optional required: Spanned<u32>,
        /// The names of the approvers: every approver of the workspace if absent.
        default approvers: Vec<Spanned<String>>,
        /// The time limit for the decision: 7 days if absent.
        optional timeout: Spanned<DurationText>,
        /// The approvers who are asked, for as long again, if there is no decision in time.
        default escalate_to: Vec<Spanned<String>>,
    }
    finish check_needs;
    lowers wf_model::ApprovalRequirement;
}

fn check_needs(
    needs: &mut ApprovalNeedsSpec,
    _fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    check_required_count(needs.required.as_ref(), &needs.approvers, decoder);
    check_nonzero_duration(needs.timeout.as_ref(), decoder);
}

/// Notes a number of approvers above the possible, or zero.
pub(in crate::ast) fn check_required_count(
    required: Option<&Spanned<u32>>,
    approvers: &[Spanned<String>],
    decoder: &mut SpecDecoder<'_>,
) {
    let Some(required) = required else { return };
    let (count, may) = (required.value as usize, approvers.len());
    let message = match count {
        0 => "an approval with 0 required approvers is not an approval".to_owned(),
        _ if may > 0 && count > may => {
            format!("{count} approvals are required, but `approvers` lists only {may}")
        }
        _ => return,
    };
    decoder.emit(Diagnostic::new(Code::ValueWrong, required.span, message));
}
