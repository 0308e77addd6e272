use super::Step;
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::source::Spanned;
use crate::spec::decode::{Argument, Decoder, Entries, Fields, record};

/// The id of the step that uses the plan of a repair.
const STEP: &str = "repair";

record! {
    /// How a goal makes the state as desired: another plan, or steps of its own.
    pub struct Repair as "a repair" {
        /// The path of the plan's file, relative to this one.
        optional uses: Spanned<String>,
        /// The parameters of the plan.
        default with: Entries<Name, Spanned<Argument>>,
        /// The steps.
        optional steps: Vec<Step>,
    }
    instead {
        "run" => "write `steps: [{id: …, run: …}]`",
        "exec" => "write `steps: [{id: …, exec: …}]`",
        "plan" => "write `uses: PLAN.md`",
    }
    finish one_way;
}

fn one_way(repair: &mut Repair, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    let (uses, steps) = (fields.has("uses"), fields.has("steps"));
    if uses && steps {
        let message = "a repair has both `uses` and `steps`";
        let mistake = Diagnostic::new(Code::ExecutorTwice, fields.key("steps"), message);
        decoder.note(mistake.help("keep one of them; a step may have `uses` too"));
    } else if !uses && !steps {
        let message = "a repair says nothing that could be executed";
        let mistake = Diagnostic::new(Code::ExecutorMissing, fields.head(), message);
        decoder.note(mistake.help("write `uses: PLAN.md`, or `steps`"));
    }
    if repair.steps.as_ref().is_some_and(Vec::is_empty) {
        let message = "a repair needs at least one step";
        decoder.note(Diagnostic::new(
            Code::ValueWrong,
            fields.key("steps"),
            message,
        ));
    }
    if fields.has("with") && !uses {
        let message = "`with` means nothing without `uses`";
        let mistake = Diagnostic::new(Code::KeyMissing, fields.key("with"), message);
        decoder.note(mistake.help("a step that has `uses` may have `with`"));
    }
}

impl Repair {
    /// The steps of the repair. A plan that is used is one step of the id `repair`.
    pub fn to_steps(&self) -> Vec<Step> {
        let Some(uses) = &self.uses else {
            return self.steps.clone().unwrap_or_default();
        };
        let id = Name::parse(STEP).ok();
        let step = id.map(|id| Step {
            has_executor: true,
            uses: Some(Box::new(uses.clone())),
            with: self.with.clone(),
            ..Step::named(Spanned::new(id, uses.span))
        });
        step.into_iter().collect()
    }
}
