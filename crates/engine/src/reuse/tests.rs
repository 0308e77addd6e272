//! Tests of the fates of steps, decided from hand-written rows.

mod dropped;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{
    RepeatChoice, StepFate,
    decide::{RepeatContext, fates},
    rows::RecordedSteps,
};
use wf_base::{
    name::{Name, PlanId, TaskRef},
    source::Span,
};
use wf_core::machine::{Standing, StepState};
use wf_model::{
    ApprovalRequirement, ApprovalStep, Check, JsonObject, NestedPlan, OnStepFailure, Plan, PlanParts,
    PlanPolicy, ShellScript, Step, StepIx, StepRepetition, StepWork,
    expr::{Expr, Template},
};
use wf_store::StepRow;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// Makes a step from `name`, `name < needs needs` or `name < needs: script`.
fn step(line: &str, earlier: &[Step]) -> Step {
    let (head, script) = line.split_once(": ").unwrap_or((line, "true"));
    let (id, needs) = head.split_once(" < ").unwrap_or((head, ""));
    let find = |need: &str| earlier.iter().position(|step| step.id.as_str() == need);
    let needs = needs.split_whitespace().map(|need| find(need).unwrap());
    let script = ShellScript { shell: vec!["sh".into(), "-c".into()], text: script.into() };
    Step {
        depends_on: needs.map(|at| StepIx(u32::try_from(at).unwrap())).collect(),
        ..Step::new(name(id), StepWork::Run(script))
    }
}

fn plan(lines: &[&str], main: usize, change: impl Fn(&mut Vec<Step>)) -> Arc<Plan> {
    let mut steps = Vec::new();
    for line in lines {
        let next = step(line, &steps);
        steps.push(next);
    }
    change(&mut steps);
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    Plan::new(PlanParts::new(PlanId::parse("p").unwrap(), steps, main, policy)).unwrap()
}

/// Rows from `a+` (succeeded), `a-` (failed), `a.` (skipped), `a[key]+`.
fn rows(text: &str) -> RecordedSteps {
    let row = |word: &str| {
        let (place, sign) = word.split_at(word.len() - 1);
        let (step, key) = match place.strip_suffix(']') {
            Some(place) => place.split_once('[').map(|(s, k)| (s, Some(k))).unwrap(),
            None => (place, None),
        };
        StepRow {
            step: name(step),
            item: key.map(|_| 0),
            item_key: key.map(str::to_owned),
            state: match sign {
                "+" => StepState::Succeeded,
                "-" => StepState::Failed,
                _ => StepState::Skipped,
            },
            standing: Standing::Reported,
            attempts: 1,
            started: None,
            ended: None,
            reason: String::new(),
            failure_class: None,
            allowed_to_fail: false,
            cache_key: None,
            stale: None,
            reused_from: None,
            outputs: JsonObject::new(),
        }
    };
    RecordedSteps::new(text.split_whitespace().map(row).collect())
}

fn path(text: &str) -> Vec<TaskRef> {
    let spot = |part: &str| {
        let (step, item) = match part.strip_suffix(']') {
            Some(part) => part.split_once('[').map(|(s, i)| (s, Some(i))).unwrap(),
            None => (part, None),
        };
        TaskRef { step: name(step), item: item.map(str::to_owned) }
    };
    text.split('/').map(spot).collect()
}

fn from(texts: &[&str]) -> RepeatChoice {
    RepeatChoice { from: texts.iter().map(|text| path(text)).collect(), ..RepeatChoice::default() }
}

fn only(texts: &[&str]) -> RepeatChoice {
    RepeatChoice {
        narrow: true,
        only: texts.iter().map(|text| path(text)).collect(),
        ..RepeatChoice::default()
    }
}

/// The fates in a plan that was changed from one to another, in a word for each step.
struct Case<'a> {
    earlier_plan: &'a Plan,
    current_plan: &'a Plan,
    rows: &'a str,
    choice: RepeatChoice,
    changed: &'a [&'a str],
    /// The steps, or items of them, whose results are dropped.
    dropped: &'a [&'a str],
    good: bool,
}

impl<'a> Case<'a> {
    fn of(plan: &'a Plan, rows: &'a str) -> Self {
        Self {
            earlier_plan: plan,
            current_plan: plan,
            rows,
            choice: RepeatChoice::default(),
            changed: &[],
            dropped: &[],
            good: false,
        }
    }

    fn decided(&self) -> Vec<StepFate> {
        let dropped = self.dropped.iter().map(|text| {
            let spot = path(text).remove(0);
            ((spot.step, spot.item), "its artifact is gone".to_owned())
        });
        fates(&RepeatContext {
            earlier_plan: Some(self.earlier_plan),
            current_plan: self.current_plan,
            choice: &self.choice,
            narrow: false,
            partial: &BTreeSet::new(),
            changed: &self.changed.iter().map(|text| name(text)).collect(),
            steps: &rows(self.rows),
            dropped: &dropped.collect(),
            run_succeeded: self.good,
        })
    }

    #[track_caller]
    fn is(&self, expected: &str) {
        let fates = self.decided();
        let words = self.current_plan.steps().iter().zip(&fates).map(|(step, fate)| {
            let id = &step.id;
            match fate {
                StepFate::Reused => format!("{id}+"),
                StepFate::Settled => format!("{id}."),
                StepFate::Deselected => format!("{id}x"),
                StepFate::Rerun(again) => {
                    let inside = if again.reuses_nested { "/" } else { "" };
                    let kept: Vec<&str> = again.reused_items.iter().map(String::as_str).collect();
                    let kept = kept.join(",");
                    format!("{id}!{inside}{kept}")
                }
            }
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), expected, "{fates:#?}");
    }
}

#[test]
fn what_did_not_succeed_and_what_depends_on_it_runs_again() {
    let plan = plan(&["a", "b < a", "c < b", "d"], 4, |_| {});
    Case::of(&plan, "a+ b- c. d+").is("a+ b! c! d+");
    Case::of(&plan, "a- b+ c+ d+").is("a! b! c! d+");
    Case::of(&plan, "a+ b. c. d+").is("a+ b. c. d+");
    Case::of(&plan, "").is("a! b! c! d!");
}

#[test]
fn what_was_changed_runs_again() {
    let old = plan(&["a: echo 1", "b < a", "c"], 3, |_| {});
    let new = plan(&["a: echo 2", "b < a", "c", "d"], 4, |_| {});
    let case = Case { earlier_plan: &old, ..Case::of(&new, "a+ b+ c+") };
    case.is("a! b! c+ d!");
}

#[test]
fn what_may_reach_something_else_runs_again() {
    let old = plan(&["a", "b", "c", "d"], 4, |steps| {
        for step in steps {
            step.verify = vec![Check::new(name("ok"))];
        }
    });
    let new = plan(&["a", "b", "c", "d"], 4, |steps| {
        for step in steps.iter_mut() {
            step.verify = vec![Check::new(name("ok"))];
        }
        steps[0].allow = Some(Box::default());
        steps[1].verify[0].network = true;
        steps[2].verify[0].fixed = vec!["tests/*".into()];
    });
    let case = Case { earlier_plan: &old, ..Case::of(&new, "a+ b+ c+ d+") };
    case.is("a! b! c! d+");
}

#[test]
fn a_choice_adds_steps_or_leaves_the_rest_out() {
    let plan = plan(&["a", "b < a", "c < b", "d"], 4, |_| {});
    let case = |rows, choice, expected| {
        let case = Case { choice, ..Case::of(&plan, rows) };
        case.is(expected);
    };
    case("a+ b+ c+ d-", from(&["b"]), "a+ b! c! d!");
    case("a+ b+ c+ d-", only(&["b"]), "a+ b! c+ dx");
    let downstream = RepeatChoice { downstream: vec![path("a")], ..RepeatChoice::default() };
    case("a+ b+ c+ d+", downstream, "a+ b! c! d+");
    let all = RepeatChoice { all: true, ..RepeatChoice::default() };
    case("a+ b+ c+ d+", all, "a! b! c! d!");
    let both = RepeatChoice { from: vec![path("c")], ..only(&["d"]) };
    case("a+ b- c+ d+", both, "a+ bx c! d!");
}

#[test]
fn finally_steps_rest_if_nothing_before_them_runs() {
    let when = |text: &str| Expr::parse(text, Span::new(0, text.len())).ok().map(Box::new);
    let plan = plan(&["a", "x", "y", "z"], 1, |steps| {
        steps[2].when = when("failed()");
    });
    Case::of(&plan, "a- x+ y+ z-").is("a! x! y! z!");
    let case = |good, rows, expected| {
        let case = Case { good, ..Case::of(&plan, rows) };
        case.is(expected);
    };
    case(true, "a+ x+ y. z-", "a+ x+ y. z!");
    case(false, "a+ x+ y+ z+", "a+ x+ y! z+");
    case(false, "a+ x+ y. z+", "a+ x+ y! z+");
}

#[test]
fn who_reads_a_parameter_that_changed_runs_again() {
    let lines = ["a: echo $WF_PARAM_DAY", "b < a", "c: echo $WF_PARAM_DAYS", "d: sh run.sh"];
    let plan = plan(&lines, 4, |_| {});
    let case = Case { changed: &["day"], ..Case::of(&plan, "a+ b+ c+ d+") };
    case.is("a! b! c+ d!");
    let narrow = Case { choice: only(&["c"]), ..case };
    narrow.is("ax b+ c! dx");
}

#[test]
fn people_are_asked_anew_where_something_runs_again_that_waits_for_them() {
    let asks = |steps: &mut Vec<Step>| {
        for at in [0, 1] {
            steps[at].work = StepWork::Approve(Box::new(ApprovalStep {
                message: Template::literal("ok?"),
                show: Vec::new(),
                answer: None,
                needs: ApprovalRequirement::default(),
            }));
        }
    };
    let lines = ["one", "two < one", "a < two", "b < two", "c < a"];
    let plan = plan(&lines, 5, asks);
    Case::of(&plan, "one+ two+ a+ b- c+").is("one! two! a+ b! c+");
    Case::of(&plan, "one+ two+ a+ b+ c-").is("one+ two+ a+ b+ c!");
    let narrow = Case { choice: only(&["b"]), ..Case::of(&plan, "one+ two+ a+ b+ c+") };
    narrow.is("one! two! a+ b! c+");
}

#[test]
fn items_are_kept_by_their_keys_whatever_the_list_is() {
    let each = |keys: &'static [&str]| {
        plan(&["each: echo", "b < each"], 2, |steps: &mut Vec<Step>| {
            steps[0].fan = StepRepetition::List(keys.iter().map(|key| (*key).into()).collect());
        })
    };
    let (old, new) = (each(&["x", "y"]), each(&["x", "y", "z"]));
    let rows = "each+ each[x]+ each[y]+ b+";
    let case = Case { earlier_plan: &old, ..Case::of(&new, rows) };
    case.is("each!x,y b!");
    Case::of(&old, "each- each[x]+ each[y]- b.").is("each!x b!");
    let chosen = Case { choice: from(&["each[x]"]), ..Case::of(&old, rows) };
    chosen.is("each!y b!");
    let narrow = Case { choice: only(&["each[x]"]), ..Case::of(&old, "each- each[x]+ each[y]- b.") };
    let StepFate::Rerun(again) = &narrow.decided()[0] else {
        panic!("it was chosen");
    };
    assert_eq!(again.except_items, Some(vec!["x".to_owned()]));
}

#[test]
fn a_plan_that_a_step_uses_is_looked_into() {
    let inner = |script: &str| plan(&[&format!("in: {script}")], 1, |_| {});
    let outer = |script: &str, day: &str| {
        let uses = NestedPlan {
            plan: inner(script),
            path: "inner.md".into(),
            with: vec![(name("day"), Template::literal(day))],
        };
        plan(&["a", "u < a", "b < u"], 3, move |steps: &mut Vec<Step>| {
            steps[1].work = StepWork::Uses(Box::new(uses.clone()));
        })
    };
    let old = outer("echo 1", "mon");
    Case::of(&old, "a+ u- b.").is("a+ u!/ b!");
    Case::of(&old, "a- u- b.").is("a! u! b!");
    Case::of(&old, "a+ u+ b+").is("a+ u+ b+");
    let (inside, around) = (outer("echo 2", "mon"), outer("echo 1", "tue"));
    let case = |now, expected| {
        let case = Case { earlier_plan: &old, ..Case::of(now, "a+ u+ b+") };
        case.is(expected);
    };
    case(&inside, "a+ u!/ b!");
    case(&around, "a+ u! b!");
    let chosen = |choice, expected| {
        let case = Case { choice, ..Case::of(&old, "a+ u+ b+") };
        case.is(expected);
    };
    chosen(from(&["u/in"]), "a+ u!/ b!");
    chosen(only(&["u/in"]), "a+ u!/ b+");
    chosen(from(&["u"]), "a+ u! b!");
    chosen(from(&["a"]), "a! u! b!");
}
