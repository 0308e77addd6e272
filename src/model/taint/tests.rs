use std::sync::Arc;

use proptest::prelude::*;

use super::{Flow, Made, StepFlow, Summary, Taint};
use crate::expr::Ref;

fn step(id: &str, made: Made, reads: &[Ref]) -> StepFlow {
    StepFlow {
        id: id.into(),
        each: Vec::new(),
        reads: reads.to_vec(),
        made,
        external: Vec::new(),
    }
}

fn out(step: &str) -> Ref {
    Ref::Output {
        step: step.into(),
        output: "o".into(),
    }
}

/// The taint of what the last of some steps gives, and where it comes from.
fn last(params: &[(&str, Taint)], steps: Vec<StepFlow>) -> (Taint, Option<String>) {
    let id = steps.last().unwrap().id.clone();
    let params = params
        .iter()
        .map(|(name, taint)| ((*name).to_owned(), *taint));
    let flow = Flow {
        params: params.collect(),
        steps,
        outputs: Vec::new(),
    };
    let made = Summary::of(&flow).steps[&id].output("o").clone();
    (made.taint, made.from.map(|from| from.to_string()))
}

const CONFINED: Made = Made::Confined { net: false };

fn check(steps: Vec<StepFlow>, taint: Taint, from: Option<&str>) {
    assert_eq!(last(&[], steps), (taint, from.map(str::to_owned)));
}

#[test]
fn a_request_gives_what_is_external() {
    check(
        vec![step("get", Made::Request, &[])],
        Taint::External,
        Some("the http step `get`"),
    );
}

#[test]
fn a_program_makes_what_it_gives_of_what_it_is_given() {
    check(vec![step("a", CONFINED, &[])], Taint::Owner, None);
    let free = Some("step `a`, which runs without a sandbox, so with a network");
    check(vec![step("a", Made::Free, &[])], Taint::External, free);
    check(
        vec![step("a", Made::Free, &[]), step("b", CONFINED, &[out("a")])],
        Taint::External,
        free,
    );
    for made in [CONFINED, Made::Free] {
        let steps = vec![
            step("get", Made::Request, &[]),
            step("b", made, &[out("get")]),
        ];
        check(steps, Taint::External, Some("the http step `get`"));
    }
}

#[test]
fn a_network_gives_what_is_external() {
    let net = Made::Confined { net: true };
    check(
        vec![step("a", net, &[])],
        Taint::External,
        Some("step `a`, which has a network"),
    );
}

#[test]
fn the_item_of_an_external_list_is_external() {
    let mut each = step("b", CONFINED, &[]);
    each.each = vec![out("get")];
    let steps = vec![step("get", Made::Request, &[]), each];
    check(steps, Taint::External, Some("the http step `get`"));
}

#[test]
fn every_parameter_is_given_to_every_program() {
    let external = last(&[("x", Taint::External)], vec![step("a", CONFINED, &[])]);
    assert_eq!(
        external,
        (
            Taint::External,
            Some("the parameter `x`, which is external".into())
        )
    );
}

#[test]
fn what_is_declared_external_is_so_whatever_makes_it() {
    let mut declared = step("a", CONFINED, &[]);
    declared.external = vec!["o".into()];
    let from = "output `o` of step `a`, which is declared to be external";
    check(vec![declared], Taint::External, Some(from));
}

#[test]
fn only_a_decision_makes_it_trusted_again() {
    let get = || step("get", Made::Request, &[]);
    for made in [CONFINED, Made::Free, Made::Request] {
        let steps = vec![get(), step("b", made, &[out("get")])];
        assert_eq!(last(&[], steps).0, Taint::External);
    }
    check(
        vec![get(), step("ok", Made::Decided, &[out("get")])],
        Taint::Owner,
        None,
    );
}

#[test]
fn trust_goes_through_a_plan_that_is_used() {
    let inner = Flow {
        params: vec![("p".into(), Taint::Owner)],
        steps: vec![step("get", Made::Request, &[]), step("echo", CONFINED, &[])],
        outputs: vec![
            ("o".into(), vec![Ref::Param("p".into())]),
            ("body".into(), vec![out("get")]),
        ],
    };
    let summary = Arc::new(Summary::of(&inner));
    let nested = |reads: &[Ref]| Made::Nested {
        path: "inner.md".into(),
        summary: Some(Arc::clone(&summary)),
        with: vec![("p".into(), reads.to_vec())],
    };
    check(vec![step("use", nested(&[]), &[])], Taint::Owner, None);
    let steps = vec![
        step("get", Made::Request, &[]),
        step("use", nested(&[out("get")]), &[]),
    ];
    check(steps, Taint::External, Some("the http step `get`"));
    let flow = Flow {
        steps: vec![step("use", nested(&[]), &[])],
        ..Flow::default()
    };
    let body = Summary::of(&flow).steps["use"].output("body").clone();
    assert_eq!(
        body.from.as_deref(),
        Some("the http step `get` of inner.md")
    );
}

fn made() -> impl Strategy<Value = Made> {
    prop_oneof![
        Just(CONFINED),
        Just(Made::Free),
        Just(Made::Request),
        Just(Made::Decided),
        Just(Made::Nothing),
        Just(Made::Confined { net: true }),
    ]
}

/// Plans of a few steps; each reads from those before it, and from a parameter.
fn flows() -> impl Strategy<Value = Flow> {
    let parts = (
        made(),
        prop::collection::vec(0..8_usize, 0..4),
        any::<bool>(),
    );
    prop::collection::vec(parts, 1..8).prop_map(|steps| {
        let steps = steps
            .into_iter()
            .enumerate()
            .map(|(at, (made, reads, each))| {
                let earlier = reads.into_iter().filter(|read| *read < at);
                let reads: Vec<Ref> = earlier.map(|read| out(&format!("s{read}"))).collect();
                let mut own = step(&format!("s{at}"), made, &reads);
                own.each = if each {
                    reads
                } else {
                    vec![Ref::Param("p".into())]
                };
                own
            });
        Flow {
            params: vec![("p".into(), Taint::Owner)],
            steps: steps.collect(),
            outputs: Vec::new(),
        }
    })
}

proptest! {
    #[test]
    fn one_more_external_source_makes_nothing_more_trusted(flow in flows(), at in 0..9_usize) {
        let before = Summary::of(&flow);
        let mut worse = flow.clone();
        match worse.steps.get_mut(at) {
            Some(step) => step.external.push("o".into()),
            None => worse.params[0].1 = Taint::External,
        }
        let after = Summary::of(&worse);
        for (id, step) in &before.steps {
            prop_assert!(after.steps[id].output("o").taint >= step.output("o").taint, "{id}");
            prop_assert!(after.steps[id].given.taint >= step.given.taint, "{id}");
        }
    }
}
