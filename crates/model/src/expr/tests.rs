use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Expr, ExprReference, ExprScope, StatusFunction, Template, templates_in_script};
use wf_base::{diag::Code, source::Span};

/// A scope of values by the text of their names.
struct Fixed(BTreeMap<&'static str, Value>);

impl ExprScope for Fixed {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        self.0.get(reference.to_string().as_str()).cloned()
    }

    fn test(&self, function: StatusFunction, step: Option<&str>) -> bool {
        matches!((function, step), (StatusFunction::Always, None) | (StatusFunction::Failed, Some("a")))
    }
}

fn scope() -> Fixed {
    Fixed(BTreeMap::from([
        ("params.day", json!("mon")),
        ("params.n", json!(3)),
        ("params.conf", json!({ "host": "h", "ports": [80, 443] })),
        ("steps.a.outputs.rows", json!([1, 2.0, 3])),
        ("steps.a.status", json!("failed")),
        ("item", json!({ "deep key": { "x": null } })),
        ("item_index", json!(0)),
        ("matrix.os", json!("linux")),
        ("run.id", json!("0123")),
    ]))
}

fn whole(text: &str) -> Span {
    Span::new(0, text.len())
}

fn parse(text: &str) -> Expr {
    Expr::parse(text, whole(text)).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}"))
}

#[test]
fn expressions_have_values() {
    for (text, expected) in [
        ("params.day", json!("mon")),
        ("params.day == 'mon'", json!(true)),
        ("params.n >= 3 and params.n < 3.5", json!(true)),
        ("3.0 == params.n", json!(true)),
        ("params.conf.ports[1]", json!(443)),
        ("params.conf['host'] != \"h\"", json!(false)),
        ("item['deep key'].x == none", json!(true)),
        ("2 in steps.a.outputs.rows", json!(true)),
        ("'on' in params.day and 'host' in params.conf", json!(true)),
        ("params.day not in ['tue', 'wed']", json!(true)),
        ("failed('a') and not failed('b')", json!(true)),
        ("always() or params.absent", json!(true)),
        ("not (item_index == -1 or matrix.os == 'mac')", json!(true)),
        ("steps.a.status == 'failed'", json!(true)),
        ("run.id", json!("0123")),
        ("[1, [2.5, 'x'], true]", json!([1, [2.5, "x"], true])),
        ("'a' < 'b'", json!(true)),
    ] {
        assert_eq!(parse(text).eval(&scope()), Ok(expected), "{text}");
    }
}

#[test]
fn what_has_no_value_says_so() {
    for (text, expected) in [
        ("params.absent == 1", "params.absent has no value here"),
        ("params.conf.port", "params.conf.port has no value here"),
        ("params.conf.ports[2]", "params.conf.ports[2] has no value here"),
        (
            "params.n < 'x'",
            "cannot evaluate `params.n < 'x'`: cannot compare the order of a number and a string",
        ),
        ("1 in params.n", "cannot evaluate `1 in params.n`: cannot search for a number in a number"),
    ] {
        let error = parse(text).eval(&scope()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

/// `^` marks what is underlined in the text above it.
fn check_wrong(text: &str, marks: &str, code: Code, needle: &str) {
    let wrong = Expr::parse(text, whole(text)).expect_err(text);
    assert_eq!(wrong.len(), 1, "{text}: {wrong:?}");
    let said = format!("{} / {}", wrong[0].message, wrong[0].help.clone().unwrap_or_default());
    assert_eq!(wrong[0].code, code, "{text}: {said}");
    assert!(said.contains(needle), "{text}: {said}");
    let drawn: String =
        (0..text.len()).map(|at| if wrong[0].span.range().contains(&at) { '^' } else { ' ' }).collect();
    assert_eq!(drawn.trim_end(), marks, "{text}: {said}");
}

#[test]
fn mistakes_are_placed_and_have_a_remedy() {
    use Code::{ExpressionForm as Form, ExpressionSyntax as Syntax, UnknownName as Name};
    for (text, marks, code, needle) in [
        ("params.a + 1 == 2", "^^^^^^^^^^^^", Form, "compute in a step instead"),
        ("params.a == 1 | int", "                ^^^", Form, "filters"),
        ("parms.day == 'x'", "^^^^^^^^^", Name, "did you mean `params`?"),
        ("params.day == eu", "              ^^", Name, "'eu'"),
        ("params.day == null", "              ^^^^", Name, "`none`"),
        ("steps.a.output.rows", "^^^^^^^^^^^^^^^^^^^", Name, "did you mean `outputs`?"),
        ("steps.a", "^^^^^^^", Form, "steps.STEP.outputs.NAME"),
        ("run.name", "^^^^^^^^", Name, "valid here: id and dispatch"),
        ("fail('a')", "^^^^", Name, "valid functions"),
        ("failled('a')", "^^^^^^^", Name, "did you mean `failed`?"),
        ("always('a')", "^^^^^^^^^^^", Form, "no arguments"),
        ("skipped()", "^^^^^^^^^", Form, "id of a step"),
        ("failed(params.a)", "^^^^^^^^^^^^^^^^", Form, "quoted id"),
        ("always", "^^^^^^", Name, "`always()`"),
        ("1 < params.n < 3", "^^^^^^^^^^^^^^^^", Form, "chained"),
        ("secrets.TOKEN.x", "^^^^^^^^^^^^^^^", Form, "has no fields"),
        ("{'a': 1}", "^^^^^^^^", Form, "objects"),
        ("'ü' == params.x.y ~ 'a'", "        ^^^^^^^^^^^^^^^^", Form, "arithmetic"),
        ("params.a && params.b", "         ^", Syntax, "`and`"),
        ("params.a = 1", "         ^", Syntax, "`==`"),
        ("-params.n", "^^^^^^^^^", Form, "only numbers"),
    ] {
        check_wrong(text, marks, code, needle);
    }
}

#[test]
fn every_mistake_of_an_expression_is_told() {
    let text = "parms.a == stps.b.status and failled('x')";
    assert_eq!(Expr::parse(text, whole(text)).unwrap_err().len(), 3);
}

#[test]
fn places_never_leave_the_span() {
    let at = Span::new(100, 104);
    let wrong = Expr::parse("params.day + 'a long tail'", at).unwrap_err();
    assert_eq!(wrong[0].span, at);
    let read = Expr::parse("params.day == 'a long tail'", at).unwrap();
    assert_eq!(read.refs()[0].span, at);
}

#[test]
fn huge_expressions_are_refused_and_do_not_overflow() {
    for (unit, times) in [
        ("(", 100_000),
        ("(", 9_000),
        ("[", 9_000),
        ("-", 9_000),
        ("not ", 2_400),
        ("1 if ", 1_900),
        ("a.", 4_900),
        ("a and ", 1_600),
        ("a[", 4_000),
        ("{", 9_000),
        ("a(", 4_000),
        ("'", 9_001),
        ("a|", 4_000),
        ("a is ", 1_900),
        ("-", 399),
        ("not ", 99),
    ] {
        let text = unit.repeat(times);
        assert!(Expr::parse(&text, whole(&text)).is_err(), "{unit}");
        let text = format!("{}x{}", unit.repeat(times), ")".repeat(times));
        assert!(Expr::parse(&text, whole(&text)).is_err(), "{unit}");
    }
    let many = vec!["params.a == 1"; 300].join(" and ");
    assert!(Expr::parse(&many, whole(&many)).is_ok());
    let deep = format!("{}true{}", "(".repeat(60), ")".repeat(60));
    assert!(Expr::parse(&deep, whole(&deep)).is_ok());
}

#[test]
fn constants_are_known() {
    for (text, expected) in [
        ("1 == 2", Some(json!(false))),
        ("'x'", Some(json!("x"))),
        ("1 < 'x'", None),
        ("params.a == params.a", None),
        ("always()", None),
    ] {
        assert_eq!(parse(text).constant(), expected, "{text}");
    }
}

#[test]
fn what_is_never_true_is_seen() {
    let domain = |reference: &ExprReference| match reference {
        ExprReference::Param(name) if name == "region" => Some(vec![json!("eu"), json!("us")]),
        _ => None,
    };
    for (text, expected) in [
        ("false", true),
        ("params.region == 'moon'", true),
        ("params.region in ['moon', 'mars']", true),
        ("params.region == 'eu' and params.region == 'us'", true),
        ("params.x == 1 and params.y == 2 and 2 == params.x", true),
        ("not (params.region == 'eu' or params.region == 'us')", false),
        ("not params.region in ['eu', 'us', 'moon']", true),
        ("params.x.a == 1 and params.x.b == 2", false),
        ("params.x == 1 and params.x == 1.0", false),
        ("params.region == 'moon' or failed('a')", false),
        ("not always()", true),
        ("failed() and 1 == 2", true),
        ("params.region == 'eu'", false),
        ("1 < 'x'", true),
    ] {
        assert_eq!(parse(text).never_true(&domain), expected, "{text}");
    }
}

#[test]
fn templates_have_values() {
    for (text, value) in [
        ("{{ params.n }}", json!(3)),
        ("{{ params.conf }}", json!({ "host": "h", "ports": [80, 443] })),
        ("n={{ params.n }}", json!("n=3")),
        ("{{params.day}}{{ params.conf.ports }}", json!("mon[80,443]")),
        ("{{ '{{' }} {{ '}}' }} {{ '{%' }}", json!("{{ }} {%")),
        ("plain } text {", json!("plain } text {")),
        ("", json!("")),
        ("{{ item['deep key'].x }}!", json!("null!")),
    ] {
        let template = Template::parse(text, whole(text)).unwrap();
        assert_eq!(template.value(&scope()).unwrap(), value, "{text}");
        assert_eq!(template.source(), text);
    }
    let literal = Template::literal("{{ not read }}");
    assert_eq!(literal.render(&scope()).unwrap(), "{{ not read }}");
}

#[test]
fn mistakes_of_templates_are_placed() {
    for (text, places) in [
        ("a {{ parms.x }} b {{ 1 + 1 }}", vec![(5, 12), (21, 26)]),
        ("ü {{ params.x", vec![(3, 5)]),
        ("{% if x %}{# c #}", vec![(0, 2), (10, 12)]),
        ("{{}}", vec![(2, 2)]),
    ] {
        let wrong = Template::parse(text, whole(text)).unwrap_err();
        let found: Vec<_> = wrong.iter().map(|w| (w.span.start, w.span.end)).collect();
        assert_eq!(found, places, "{text}");
        assert!(wrong.iter().all(|w| w.help.is_some()), "{wrong:?}");
    }
}

#[test]
fn only_our_templates_are_found_in_scripts() {
    for (script, names) in [
        ("echo {{ params.day }}", vec!["params.day"]),
        ("a {{params.day | upper}} {{ item }}", vec!["params.day", "item"]),
        ("{{ {{ steps.a.outputs.x }}", vec!["steps.a.outputs.x"]),
        ("docker inspect -f '{{ .State.Running }}'", vec![]),
        ("awk '{{ print $1 }}' {{ range . }} {{ params }}", vec![]),
        ("${{ github.ref }} {{ unclosed", vec!["github.ref"]),
        ("${{ steps.a.outputs.x }}", vec!["steps.a.outputs.x"]),
        ("{{inputs.parameters.day}} {{ inputs }}", vec!["inputs.parameters.day"]),
        ("f'${{x}}' ${{a: 1}} $'{{ env.A }}'", vec![]),
        ("}} {{", vec![]),
    ] {
        let found = templates_in_script(script);
        let shown: Vec<_> = found.iter().map(|(_, name)| name.to_string()).collect();
        assert_eq!(shown, names, "{script}");
        for (at, _) in found {
            let template = script[at].trim_start_matches('$');
            assert!(template.starts_with("{{") && template.ends_with("}}"));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        check_bounds(&text)?;
    }

    #[test]
    fn near_misses_are_read_or_refused(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "params", ".", "a", "steps", "outputs", "(", ")", "[", "]", "{{", "}}", "'", "\"",
                "\\", " and ", " not ", "==", " in ", "-", "9e999", "1.", "é", "\n", "failed(", "|",
                " is ", " if ", "{%", "*", "18446744073709551616", "\\u12", "item", ",", "}",
            ]),
            0..24,
        )
    ) {
        check_bounds(&parts.concat())?;
    }
}

/// Positions stay on the character boundaries of any text.
fn check_bounds(text: &str) -> Result<(), TestCaseError> {
    let _ = templates_in_script(text);
    let on_text = |span: Span| text.get(span.range()).is_some();
    let expr = Expr::parse(text, whole(text));
    let template = Template::parse(text, whole(text));
    for wrong in [expr.as_ref().err(), template.as_ref().err()].into_iter().flatten() {
        prop_assert!(!wrong.is_empty());
        prop_assert!(wrong.iter().all(|w| on_text(w.span)), "{text:?}: {wrong:?}");
    }
    if let Ok(expr) = expr {
        prop_assert!(expr.refs().iter().all(|r| on_text(r.span)));
        let _ = (expr.eval(&scope()), expr.constant(), expr.never_true(&|_| None));
    }
    if let Ok(template) = template {
        prop_assert!(template.refs().iter().all(|r| on_text(r.span)));
        let _ = template.render(&scope());
    }
    Ok(())
}
