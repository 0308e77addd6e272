//! The definition of a step: the answer to the question if two steps are the same.
//!
//! A definition is the [`Serialize`] form of a [`Step`], so each key of a step says in its declaration if it is
//! part of it: one with `#[serde(skip)]` is not. A new key is part of it unless it is skipped, so
//! forgetting it repeats work, and never reuses an outdated result.
//!
//! | user | takes |
//! |---|---|
//! | a retry, for each step whose result it may keep | [`compare`] |
//! | the attestation of a run | [`of_step`] |
//! | the key of a cached result, with the values of templates | [`of_work`] |

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{
    JsonObject,
    plans::{plan::Plan, step::Step, work::StepWork},
};
use wf_base::digest::Sha256Digest;

/// The respects in which a step means the same as the earlier step of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEquality {
    /// The whole step means the same.
    pub whole_step: bool,
    /// Each item by itself means the same, whatever the list is.
    pub each_item: bool,
    /// The step means the same apart from the contents of the plan it uses.
    pub except_nested_plan: bool,
}

/// Equal in all respects.
const SAME: StepEquality = StepEquality { whole_step: true, each_item: true, except_nested_plan: true };

/// The part of a definition saying what a step is repeated over.
const REPETITION: &str = "/step/fan";

/// The part of a definition with the contents of the plan a step uses.
const NESTED_PLAN: &str = "/step/uses/plan";

/// The fields about the start of a step and the demands on its result, and nothing about its work.
const AROUND_WORK: [&str; 6] = ["when", "fan", "verify", "artifacts", "writes", "alternatives"];

/// The fields the key of a cached result has in a form of its own: rendered, or only if they apply.
const IN_CACHE_KEY: [&str; 6] = ["env", "cwd", "allow", "limits", "outputs", "cache"];

/// Compares a step with the earlier step of that name; `None` if there was none.
pub fn compare(old_plan: &Plan, new_plan: &Plan, step: &Step) -> Option<StepEquality> {
    let old = old_plan.find(step.id.as_str()).map(|ix| old_plan.step(ix))?;
    if std::ptr::eq(old, step) {
        return Some(SAME);
    }
    let definitions = [of_step(old_plan, old), of_step(new_plan, step)];
    let same_without = |part: &str| {
        let [old, new] = definitions.clone().map(|definition| without_part(definition, part));
        old == new
    };
    if definitions[0] == definitions[1] {
        return Some(SAME);
    }
    // An item may read its position in the list.
    let counts = |definition: &Value| definition.to_string().to_uppercase().contains("ITEM_INDEX");
    let both = old.is_repeated() && step.is_repeated() && !definitions.iter().any(counts);
    Some(StepEquality {
        whole_step: false,
        each_item: both && same_without(REPETITION),
        except_nested_plan: same_without(NESTED_PLAN),
    })
}

/// True if the plan as a whole has the same criteria and outputs.
pub fn same_plan_meaning(old_plan: &Plan, new_plan: &Plan) -> bool {
    let whole = |plan: &Plan| json!([plan.parts().verify, plan.parts().outputs]);
    std::ptr::eq(old_plan, new_plan) || whole(old_plan) == whole(new_plan)
}

/// Returns the definition of a step in its plan, whatever its wording.
pub fn of_step(plan: &Plan, step: &Step) -> Value {
    let needs = step.depends_on.iter().map(|ix| plan.step(*ix).id.as_str());
    json!({
        "step": fields(step),
        "depends_on": needs.collect::<Vec<_>>(),
        "env": plan.parts().env,
        "secrets": plan.parts().secrets,
    })
}

/// Returns the definition of a step's work, for the key of a cached result. Of a plan the step uses it has
/// everything, also gates and limits: when a result is restored, nothing of that plan is evaluated.
pub fn of_work(step: &Step) -> JsonObject {
    let mut work = fields(step);
    work.retain(|name, _| !AROUND_WORK.contains(&name.as_str()) && !IN_CACHE_KEY.contains(&name.as_str()));
    if let StepWork::Uses(nested) = &step.work {
        // A form that nothing else reads.
        let contents = Sha256Digest::of_bytes(format!("{:?}", nested.plan).as_bytes());
        work.insert("nested_plan".to_owned(), json!(contents));
    }
    work
}

/// Returns the fields of a step that are set, so a new key leaves the definitions of steps without it alone.
fn fields(step: &Step) -> JsonObject {
    let Value::Object(mut fields) = json!(step) else {
        return JsonObject::new();
    };
    fields.retain(|_, value| !value.is_null() && *value != json!([]));
    fields
}

/// Serializes the fields of an alternative that are set.
pub(crate) fn serialize_set_fields<S: Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    fields(step).serialize(serializer)
}

fn without_part(mut definition: Value, part: &str) -> Value {
    if let Some(part) = definition.pointer_mut(part) {
        *part = Value::Null;
    }
    definition
}

/// The definition of a plan a step uses.
impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.parts();
        let steps = self.steps().iter().map(|step| json!([step.id, of_step(self, step)]));
        json!({
            "params": parts.params,
            "steps": steps.collect::<Vec<_>>(),
            "verify": parts.verify,
            "outputs": parts.outputs,
        })
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use serde_json::Value;

    use super::{compare, of_step, of_work, same_plan_meaning};
    use crate::{
        checks::check::Check,
        expr::{Expr, Template},
        plans::{
            plan::{OnStepFailure, Plan, PlanParts, PlanPolicy},
            step::{Alternative, Step, StepIx, StepRepetition},
            work::{NestedPlan, StepWork},
        },
    };
    use wf_base::{
        name::{Name, PlanId},
        source::Span,
    };

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn exec(words: &[&str]) -> StepWork {
        StepWork::Exec(words.iter().map(|word| Template::read(word).unwrap()).collect())
    }

    fn step() -> Step {
        Step::new(name("build"), exec(&["make", "{{ params.target }}"]))
    }

    fn plan(steps: Vec<Step>) -> Arc<Plan> {
        let policy =
            PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::from_secs(1) };
        let count = steps.len();
        Plan::new(PlanParts::new(PlanId::parse("p").unwrap(), steps, count, policy)).unwrap()
    }

    /// The equality of two versions of the only step, in all respects.
    fn equality(before: Step, after: Step) -> [bool; 3] {
        let (before, after) = (plan(vec![before]), plan(vec![after]));
        let equality = compare(&before, &after, after.step(StepIx(0))).unwrap();
        [equality.whole_step, equality.each_item, equality.except_nested_plan]
    }

    #[test]
    fn what_limits_attempts_or_judges_failures_makes_no_other_step() {
        let limited = Step {
            title: Some("Build".into()),
            timeout: Some(Duration::from_secs(9)),
            idempotent: true,
            concurrency: Some("lock".into()),
            runs_on: Some(name("gpu")),
            ..step()
        };
        assert_eq!(equality(step(), limited), [true; 3]);
    }

    #[test]
    fn what_its_result_depends_on_makes_another_step() {
        let others = [
            Step { work: exec(&["make", "{{ params.other }}"]), ..step() },
            Step { container: Some("image".into()), ..step() },
            Step { cwd: Template::read("src"), ..step() },
            Step { verify: vec![Check::new(name("built"))], ..step() },
            Step { when: Expr::parse("params.on", Span::default()).ok().map(Box::new), ..step() },
        ];
        for other in others {
            assert_eq!(equality(step(), other.clone()), [false; 3], "{other:?}");
        }
    }

    #[test]
    fn a_dependency_counts_by_its_name() {
        let last = |at| Step { depends_on: vec![StepIx(at)], ..step() };
        let [first, other] = ["first", "other"].map(|id| Step::new(name(id), exec(&["true"])));
        let before = plan(vec![first.clone(), last(0)]);
        let moved = plan(vec![other, first, last(1)]);
        assert!(compare(&before, &moved, moved.step(StepIx(2))).unwrap().whole_step);
        let changed = plan(vec![moved.step(StepIx(0)).clone(), moved.step(StepIx(1)).clone(), last(0)]);
        assert!(!compare(&before, &changed, changed.step(StepIx(2))).unwrap().whole_step);
    }

    #[test]
    fn an_item_is_the_same_in_another_list_unless_it_reads_its_position() {
        let over = |items: &[&str], word: &str| Step {
            fan: StepRepetition::List(items.iter().map(|&item| item.into()).collect()),
            ..Step::new(name("build"), exec(&["make", word]))
        };
        let item = "{{ item }}";
        assert_eq!(equality(over(&["a"], item), over(&["a", "b"], item)), [false, true, false]);
        let index = "{{ item_index }}";
        assert_eq!(equality(over(&["a"], index), over(&["a", "b"], index)), [false; 3]);
    }

    #[test]
    fn the_contents_of_a_nested_plan_are_told_from_its_use() {
        let uses = |word: &str, path: &str| {
            let inner = plan(vec![Step::new(name("inner"), exec(&[word]))]);
            let nested = NestedPlan { plan: inner, path: path.into(), with: Vec::new() };
            Step::new(name("build"), StepWork::Uses(Box::new(nested)))
        };
        assert_eq!(equality(uses("a", "x.md"), uses("a", "x.md")), [true; 3]);
        assert_eq!(equality(uses("a", "x.md"), uses("b", "x.md")), [false, false, true]);
        assert_eq!(equality(uses("a", "x.md"), uses("a", "y.md")), [false; 3]);
    }

    #[test]
    fn a_key_that_is_not_set_is_not_in_the_definition() {
        let other = Alternative { id: name("other"), replaces: true, step: Arc::new(step()) };
        let plan = plan(vec![Step { alternatives: vec![other], ..step() }]);
        let definition = of_step(&plan, plan.step(StepIx(0)));
        let keys = |step: &Value| step.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&definition["step"]), ["fan", "exec", "limits", "alternatives"]);
        assert_eq!(keys(&definition["step"]["alternatives"][0]["step"]), ["fan", "exec", "limits"]);
    }

    #[test]
    fn the_work_is_what_is_executed() {
        let set = Step {
            container: Some("image".into()),
            cwd: Template::read("src"),
            verify: vec![Check::new(name("built"))],
            ..step()
        };
        let work: Vec<String> = of_work(&set).into_iter().map(|(name, _)| name).collect();
        assert_eq!(work, ["exec", "container"]);
    }

    #[test]
    fn all_of_a_nested_plan_is_in_the_key_of_its_result() {
        let key = |inner: Step| {
            let nested = NestedPlan { plan: plan(vec![inner]), path: "x.md".into(), with: Vec::new() };
            of_work(&Step::new(name("build"), StepWork::Uses(Box::new(nested))))
        };
        let limited = Step { timeout: Some(Duration::from_secs(9)), ..step() };
        assert_eq!(key(step()), key(step()));
        assert_ne!(key(step()), key(limited));
    }

    #[test]
    fn a_plan_is_the_same_by_its_criteria() {
        let checked = |checks: Vec<Check>| {
            let parts = plan(vec![step()]).parts().clone();
            Plan::new(PlanParts { verify: checks, ..parts }).unwrap()
        };
        let check = || vec![Check::new(name("built"))];
        assert!(same_plan_meaning(&checked(check()), &checked(check())));
        assert!(!same_plan_meaning(&checked(check()), &checked(Vec::new())));
    }
}
