//! The output of a step by line: a long one with colours, returns of the cursor and characters that hide.

use serde_json::json;

use super::{Pages, last_run};
use crate::support::{Sandbox, until};

/// A step that writes 200,001 lines and waits if it is asked to.
pub const LONG: &str = "\
---
kind: plan
id: long
steps:
  - id: talk
    run: |
      printf '\\033[1;31mred\\033[0m plain\\n10%%\\r100%%\\nhid\\342\\200\\256den <b>\\033[2J\\n'
      seq 4 200000 | sed 's/^/line /'
      echo 'error: <b>it broke</b>'
---
";

/// A step that writes a line, and another one later.
const WAITS: &str = "\
---
kind: plan
id: waits
steps:
  - id: talk
    run: |
      printf 'one\\nbegun'
      while ! test -e go; do sleep 0.05; done
      printf ' and ended\\nlast'
---
";

#[test]
fn any_line_of_a_long_output_is_shown_and_found() {
    let sandbox = Sandbox::new();
    sandbox.file("long.md", LONG);
    sandbox.wf(&["run", "long.md", "-q"]).exits(0);
    let pages = Pages::open(&sandbox);
    let step = format!("/runs/{}/steps/talk", last_run(&sandbox));
    let log = format!("{step}/log");
    let lines = pages.view(&format!("{log}/lines?attempt=1&from=1&count=3"));
    assert_eq!((&lines["first"], &lines["total"]), (&json!(1), &json!(200_001)));
    assert_eq!(lines["is_whole"], true);
    let mut shown = lines["lines"].clone();
    for line in shown.as_array_mut().unwrap() {
        let at = line.as_object_mut().unwrap().remove("at").expect("its time is recorded");
        assert!(at.as_str() >= lines["started"].as_str(), "{at} {lines}");
    }
    assert_eq!(
        shown,
        json!([
            {"n": 1, "text": "red plain", "spans": [{"from": 0, "to": 3, "style": "bold fg-red"}]},
            {"n": 2, "text": "100%", "spans": []},
            {"n": 3, "text": "hid⟨U+202E⟩den <b>⟨U+001B⟩[2J", "spans": []},
        ])
    );
    let lines = pages.view(&format!("{log}/lines?attempt=1&from=123456&count=2"));
    assert_eq!(lines["lines"][1]["text"], "line 123457");
    let lines = pages.view(&format!("{log}/lines?attempt=1&count=9999"));
    assert_eq!((&lines["first"], lines["lines"].as_array().unwrap().len()), (&json!(198_002), 2_000));

    let found = pages.view(&format!("{log}/search?attempt=1&q=IT+BROKE"));
    assert_eq!(found, json!({"hits": [{"n": 200_001, "at": 10, "length": 8}], "more": false}));
    let found = pages.view(&format!("{log}/search?attempt=1&q=%5Eline+1.*9%24&regex=on&after=100000"));
    assert_eq!((&found["hits"][0]["n"], &found["more"]), (&json!(100_009), &json!(true)));
    assert_eq!(found["hits"].as_array().unwrap().len(), 500);
    let refused = pages.ask(&format!("{log}/search?attempt=1&q=(&regex=on"));
    assert!(refused.starts_with("HTTP/1.1 400 ") && refused.contains("unclosed group"), "{refused}");
    for path in ["lines?attempt=2", "search?attempt=2&q=x"] {
        assert!(pages.ask(&format!("{log}/{path}")).starts_with("HTTP/1.1 404 "), "{path}");
    }
    assert!(pages.ask(&format!("{log}/lines?attempt=x")).starts_with("HTTP/1.1 400 "));
    // Without scripts, too.
    let output = format!("{step}/output?attempt=1");
    let jump = pages.ask(&format!("{output}&jump=error"));
    assert!(
        jump.starts_with("HTTP/1.1 303 ") && jump.contains("location: ?attempt=1&from=199991#L200001\r\n"),
        "{jump}"
    );
    pages.shows(
        &format!("{output}&from=199991&times=elapsed"),
        &["<span class=\"at\">00:0", "aria-current=\"true\">since the start"],
    );
    pages.shows(&step, &["output?attempt=1&amp;jump=error\">First error</a>"]);
}

#[test]
fn a_long_output_is_read_and_searched_without_scripts() {
    let sandbox = Sandbox::new();
    sandbox.file("long.md", LONG);
    sandbox.wf(&["run", "long.md", "-q"]).exits(0);
    let pages = Pages::open(&sandbox);
    let step = format!("/runs/{}/steps/talk", last_run(&sandbox));
    let broke = "error: &lt;b&gt;it broke&lt;/b&gt;";
    let link = format!("{step}/output?attempt=1");
    pages.shows(&step, &["The last 500 of 200001 lines", broke, "<a href=\"#L200001\">200001</a>", &link]);
    let first = pages.ask(&link);
    let coloured = "<a href=\"#L1\">1</a><span class=\"bold fg-red\">red</span> plain</span>";
    for text in [coloured, "Lines 1 to 1000 of 200001", "&amp;from=1001\">Later lines", "id=\"L1000\""] {
        assert!(first.contains(text), "{text}: {first}");
    }
    assert!(first.contains("hid⟨U+202E⟩den &lt;b&gt;⟨U+001B⟩[2J") && !first.contains("Earlier"), "{first}");
    assert!(!first.contains("style=") && !first.contains("data-output"), "{first}");
    let last = pages.ask(&format!("{link}&from=199500"));
    assert!(last.contains("&amp;from=198500\">Earlier lines") && last.contains(broke), "{last}");
    assert!(!last.contains("Later lines"), "{last}");
    pages.shows(&format!("{link}&from=200002"), &["200001 lines, and none from 200002"]);
    let found = format!("{link}&amp;q=line%201999&amp;from=1989#L1999");
    let searched = pages.ask(&format!("{link}&q=line+1999"));
    assert!(searched.replace("&q=", "&amp;q=").contains(&found), "{found}: {searched}");
    pages.shows(
        &format!("{link}&q=line+1999"),
        &["Found in 100 or more lines", "<code>line 1999</code>", "after=199988\">More"],
    );
    pages.shows(&format!("{link}&q=line+1999&after=199988"), &["Found in 11 lines"]);
    pages.shows(&format!("{link}&q=%3Cscript%3E"), &["It is in no line", "value=\"&lt;script&gt;\""]);
    pages.shows(&format!("{link}&q=(&regex=on"), &["Nothing was searched: ", "unclosed group"]);
    let view = pages.view(&format!("{link}&from=7"));
    assert_eq!((&view["first"], &view["lines"][0]["parts"][0]["text"]), (&json!(7), &json!("line 7")));
    assert!(pages.ask(&format!("{step}/output?attempt=2")).starts_with("HTTP/1.1 404 "));
}

#[test]
fn lines_are_there_while_an_attempt_writes_them() {
    let sandbox = Sandbox::new();
    sandbox.file("waits.md", WAITS);
    let pages = Pages::open(&sandbox);
    let mut child = sandbox.start(&["run", "waits.md", "-q"]);
    until("the step writes", || sandbox.wf(&["logs", "--last", "talk"]).out.contains("one"));
    let step = format!("/runs/{}/steps/talk", last_run(&sandbox));
    let lines = pages.view(&format!("{step}/log/lines?attempt=1"));
    assert_eq!((&lines["is_whole"], &lines["lines"][0]["text"]), (&json!(false), &json!("one")));
    pages.shows(&format!("{step}/output?attempt=1"), &["data-output", "one"]);
    sandbox.file("go", "");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let lines = pages.view(&format!("{step}/log/lines?attempt=1&from=2"));
    assert_eq!((&lines["is_whole"], &lines["total"]), (&json!(true), &json!(3)));
    assert_eq!(lines["lines"][0]["text"], "begun and ended");
    assert_eq!(lines["lines"][1]["text"], "last");
}
