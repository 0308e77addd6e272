use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_core::permit::{ParallelLimit, ParallelLimits};
use wf_lang::decode::{LowerSpec, MappingFields, SpecDecoder, record};

record! {
    /// The limits on the concurrent steps of all runs. An absent limit is unlimited.
    pub struct LimitsSection as "the limits" {
        /// The maximum number of steps of all runs.
        optional max_parallel: Spanned<u32>,
        /// The maximum number of steps of the runs of one session.
        optional max_parallel_per_session: Spanned<u32>,
        /// The maximum number of steps of one run, with those nested in it.
        optional max_parallel_per_run: Spanned<u32>,
    }
    finish check_limits;
}

impl LimitsSection {
    pub(super) fn limits(&self) -> ParallelLimits {
        ParallelLimits {
            in_workspace: self.max_parallel.lower(),
            in_session: self.max_parallel_per_session.lower(),
            in_run: self.max_parallel_per_run.lower(),
        }
    }
}

/// Notes a limit of zero, and one made useless by a wider limit.
fn check_limits(section: &mut LimitsSection, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let mut wider: Option<(ParallelLimit, u32)> = None;
    let limits = [
        (ParallelLimit::Workspace, &section.max_parallel),
        (ParallelLimit::Session, &section.max_parallel_per_session),
        (ParallelLimit::Run, &section.max_parallel_per_run),
    ];
    for (key, limit) in limits {
        let Some(limit) = limit else { continue };
        let mut wrong = |message: String, help: &str| {
            decoder.emit(Diagnostic::new(Code::ValueWrong, limit.span, message).with_help(help));
        };
        if limit.value == 0 {
            wrong("with a limit of 0, nothing would ever run".into(), "write 1 or more");
        }
        if let Some((above, most)) = wider.filter(|(_, most)| limit.value > *most) {
            wrong(format!("never reached: `{above}` allows {most}"), "write a smaller number, or remove it");
        }
        wider = Some((key, limit.value));
    }
}
