//! Tests of results that are not as their runs left them.

use super::{Case, StepFate, only, plan};

#[test]
fn what_is_not_what_it_was_runs_again_and_what_depends_on_it() {
    let plan = plan(&["a", "b < a", "c < b", "d"], 4, |_| {});
    let dropped = |dropped: &'static [&'static str]| Case { dropped, ..Case::of(&plan, "a+ b+ c- d+") };
    dropped(&[]).is("a+ b+ c! d+");
    dropped(&["a"]).is("a! b! c! d+");
    dropped(&["b", "d"]).is("a+ b! c! d!");
    let reason = &dropped(&["d"]).decided()[3];
    let said = matches!(reason, StepFate::Rerun(again) if again.reason.to_string() == "its artifact is gone");
    assert!(said, "{reason:?}");
}

#[test]
fn what_was_not_chosen_is_not_kept_on_ground_that_is_gone() {
    let plan = plan(&["a", "b < a", "c < b", "d"], 4, |_| {});
    let case = Case { choice: only(&["c"]), dropped: &["a"], ..Case::of(&plan, "a+ b+ c- d+") };
    case.is("ax bx c! d+");
}
