//! An integer keeps its digits wherever it enters, or is refused there.

use crate::{requests::serve, support::Sandbox};

/// A step that uses the number as an integer.
const TAKES: &str = "  - id: takes\n    run: printf %s \"$WF_PARAM_N\" > got\n";

/// Steps that make an output, and a step that uses it.
const MAKES: &str = "  - id: makes\n    WORK\n    outputs: {n: SCHEMA}\n  - id: takes\n    depends_on: [makes]\n    \
    env: {N: \"{{ steps.makes.outputs.n }}\"}\n    run: printf %s \"$N\" > got\n";

/// A place where a number enters a run.
struct Entrance {
    name: &'static str,
    /// The front matter, after its first lines; `NUMBER` stands for the number.
    plan: String,
    args: &'static [&'static str],
}

/// The number as an output of a step, made by its work.
fn made(name: &'static str, work: &str) -> Entrance {
    let plan = format!("steps:\n{}", MAKES.replace("WORK", work).replace("SCHEMA", "{type: integer}"));
    Entrance { name, plan, args: &[] }
}

fn entrances() -> Vec<Entrance> {
    let param = |name, extra: &str, args| {
        let plan = format!("params: {{n: {{type: integer{extra}}}}}\nsteps:\n{TAKES}");
        Entrance { name, plan, args }
    };
    let list = "run: echo 'n=[NUMBER]' >> \"$WF_OUTPUT\"";
    let list = MAKES.replace("WORK", list).replace("SCHEMA", "{type: array, items: {type: integer}}");
    let each =
        list.replace("env: {N: \"{{ steps.makes.outputs.n }}\"}\n", "for_each: steps.makes.outputs.n\n");
    vec![
        param("default", ", default: NUMBER", &[]),
        param("-p", "", &["-p", "n=NUMBER"]),
        param("--params", "", &["--params", "params.json"]),
        made("key=value", "run: echo n=NUMBER >> \"$WF_OUTPUT\""),
        made("key<<END", "run: printf 'n<<E\\nNUMBER\\nE\\n' >> \"$WF_OUTPUT\""),
        made("a line of JSON", "run: |\n      echo '{\"n\": NUMBER}' >> \"$WF_OUTPUT\""),
        made("a response", "http: {url: \"ADDRESS\", outputs: {n: $.data.n}}"),
        Entrance {
            plan: made("", "uses: inner.md").plan.replace("    outputs: {n: {type: integer}}\n", ""),
            ..made("a nested plan", "")
        },
        Entrance { name: "an item", plan: format!("steps:\n{}", each.replace("$N", "$WF_ITEM")), args: &[] },
        Entrance {
            name: "a parameter of a nested plan",
            plan: "steps:\n  - {id: nested, uses: taker.md, with: {n: NUMBER}}\n".into(),
            args: &[],
        },
    ]
}

/// Runs a plan that a number enters: what its step got, or what is said.
fn run(entrance: &Entrance, number: &str) -> Result<String, String> {
    let place = Sandbox::new();
    let body = format!("{{\"other\": 99999999999999999999, \"data\": {{\"n\": {number}}}}}");
    let response = format!("200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let response: &'static str = response.leak();
    let written = |text: &str| text.replace("NUMBER", number);
    let mut plan = entrance.plan.clone();
    if plan.contains("ADDRESS") {
        plan = plan.replace("ADDRESS", &serve(Vec::leak(vec![response])));
    }
    place.file("p.md", format!("---\nkind: plan\nid: p\n{}---\n", written(&plan)));
    place.file("params.json", written("{\"n\": NUMBER}"));
    let inner = "steps: [{id: a, run: 'echo n=NUMBER >> \"$WF_OUTPUT\"', outputs: {n: {type: integer}}}]\n\
                 outputs: {n: {type: integer, value: '{{ steps.a.outputs.n }}'}}\n";
    place.file("inner.md", format!("---\nkind: plan\nid: inner\n{}---\n", written(inner)));
    place.file(
        "taker.md",
        format!("---\nkind: plan\nid: taker\nparams: {{n: {{type: integer}}}}\nsteps:\n{TAKES}---\n"),
    );
    let args: Vec<String> = entrance.args.iter().map(|arg| written(arg)).collect();
    let args: Vec<&str> = ["run", "p.md"].into_iter().chain(args.iter().map(String::as_str)).collect();
    let did = place.wf(&args);
    if did.code == Some(0) { Ok(place.read("got")) } else { Err(did.all()) }
}

#[test]
fn integers_keep_their_digits_or_are_refused_wherever_they_enter() {
    for entrance in entrances() {
        let name = entrance.name;
        for kept in ["7", "18446744073709551615", "-9223372036854775808"] {
            assert_eq!(run(&entrance, kept), Ok(kept.to_owned()), "{name}");
        }
        for (refused, reason) in [
            (
                "36893488147419103233",
                "36893488147419103233 is not between -9223372036854775808 and 18446744073709551615",
            ),
            ("-9223372036854775809", "-9223372036854775809 is not between"),
            ("1e3", "1000.0 is not of type \"integer\": write it with digits alone, as 1000"),
            ("3.0", "3.0 is not of type \"integer\": write it with digits alone, as 3"),
            ("1.5", "1.5 is not of type \"integer\""),
        ] {
            let told = run(&entrance, refused).expect_err(name);
            assert!(told.contains(reason), "{name}, {refused}: {told}");
        }
    }
}

#[test]
fn digits_beyond_a_number_are_text_where_nobody_asks_for_a_number() {
    let id = "36893488147419103233";
    let text = made("", "run: |\n      echo '{\"n\": {\"id\": NUMBER, \"size\": 1e3}}' >> \"$WF_OUTPUT\"");
    let plan = text.plan.replace("{type: integer}", "{type: object}");
    let whole = Entrance { plan: plan.clone(), ..made("", "") };
    assert_eq!(run(&whole, id), Ok(format!("{{\"id\":\"{id}\",\"size\":1000.0}}")));
    let part = Entrance { plan: plan.replace("outputs.n }}", "outputs.n.id }}"), ..made("", "") };
    assert_eq!(run(&part, id), Ok(id.to_owned()));
    let axis =
        "steps: [{id: a, matrix: {n: [NUMBER]}, run: 'printf %s \"$WF_MATRIX_N $WF_ITEM_KEY\" > got'}]\n";
    assert_eq!(run(&Entrance { plan: axis.into(), ..made("", "") }, id), Ok(format!("{id} {id}")));
}
