use crate::{
    ast::steps::StepSpec,
    decode::{ArgumentTemplate, MappingFields, OrderedEntries, SpecDecoder, record},
};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};

/// The id of the step using the plan of a repair.
const STEP: &str = "repair";

record! {
    /// The remediation of a goal's state: another plan, or steps of its own.
    pub struct RepairSpec as "a repair" {
        /// The path of the plan's file, relative to this one.
        optional uses: Spanned<String>,
        /// The parameters of the plan.
        default with: OrderedEntries<Name, Spanned<ArgumentTemplate>>,
        /// The steps.
        optional steps: Vec<StepSpec>,
    }
    instead {
        "run" => "write `steps: [{id: …, run: …}]`",
        "exec" => "write `steps: [{id: …, exec: …}]`",
        "plan" => "write `uses: PLAN.md`",
    }
    finish check_repair;
}

fn check_repair(repair: &mut RepairSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let (uses, steps) = (fields.has("uses"), fields.has("steps"));
    if uses && steps {
        let message = "a repair has both `uses` and `steps`";
        let mistake = Diagnostic::new(Code::ExecutorTwice, fields.key("steps"), message);
        decoder.emit(mistake.with_help("keep one of them; a step may also have `uses`"));
    } else if !uses && !steps {
        let message = "a repair needs `uses` or `steps`";
        let mistake = Diagnostic::new(Code::ExecutorMissing, fields.head(), message);
        decoder.emit(mistake.with_help("write `uses: PLAN.md`, or `steps`"));
    }
    if repair.steps.as_ref().is_some_and(Vec::is_empty) {
        let message = "a repair needs at least one step";
        decoder.emit(Diagnostic::new(Code::ValueWrong, fields.key("steps"), message));
    }
    if fields.has("with") && !uses {
        let message = "`with` has no effect without `uses`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("with"), message);
        decoder.emit(mistake.with_help("`with` may also be set on a step that has `uses`"));
    }
}

impl RepairSpec {
    /// Returns the steps of the repair. A plan that is used is one step with the id `repair`.
    pub fn to_steps(&self) -> Vec<StepSpec> {
        match &self.uses {
            Some(uses) => StepSpec::using(STEP, uses, &self.with).into_iter().collect(),
            None => self.steps.clone().unwrap_or_default(),
        }
    }
}
