//! Suggestions of runs, as cards.

use super::{Pages, last_run};
use crate::support::{Sandbox, until};

const LOOKS: &str = "\
---
kind: plan
id: look
params:
  next:
    type: array
    default:
      - {title: 'Sort the <inbox>', why: It is full., uses: sort.md, with: {folder: inbox}}
      - {title: Burn it, uses: burn.md}
steps:
  - {id: find, run: 'true'}
outputs:
  next: {type: array, value: '{{ params.next }}'}
suggests: {output: next, plans: [sort.md, burn.md]}
---
";

const SORTS: &str = "\
---
kind: plan
id: sort
params: {folder: {type: string}}
steps:
  - {id: agree, approve: {message: 'Really sort?'}}
  - {id: sort, depends_on: [agree], allow: {}, run: 'test \"$WF_PARAM_FOLDER\" = inbox'}
---
";

const BURNS: &str = "---\nkind: plan\nid: burn\nsteps:\n  - {id: burn, run: 'true'}\n---\n";

/// A workspace in which two suggestions wait.
pub fn suggesting() -> Sandbox {
    let sandbox = Sandbox::new();
    suggest_in(&sandbox);
    sandbox
}

/// Lets a run suggest two in a workspace.
pub fn suggest_in(sandbox: &Sandbox) {
    sandbox.file("look.md", LOOKS).file("sort.md", SORTS).file("burn.md", BURNS);
    sandbox.wf(&["run", "look.md"]).exits(0);
}

#[test]
fn a_suggestion_is_started_or_dismissed_in_a_browser() {
    let sandbox = suggesting();
    let pages = Pages::open(&sandbox);
    pages.shows("/", &["2 suggestions"]);
    pages.shows("/inbox", &["Sort the &lt;inbox&gt;", "It is full.", "sort.md", "folder", "Burn it"]);
    pages.shows("/activity", &["suggested to run <code>burn.md</code>: Burn it"]);
    let began = pages.own_post("/suggestions/1/accept", "");
    let run = last_run(&sandbox);
    assert!(began.contains(&format!("location: /runs/{run}\r\n")), "{began}");
    until("its own request is a card", || pages.ask("/inbox").contains("Really sort?"));
    let again = pages.own_post("/suggestions/1/accept", "");
    assert!(again.starts_with("HTTP/1.1 409 ") && again.contains("was accepted before"), "{again}");
    assert!(pages.own_post("/suggestions/2/dismiss", "").contains("location: /inbox\r\n"));
    assert!(pages.own_post("/suggestions/9/dismiss", "").contains("does not exist"));
    sandbox.wf(&["approve", "--last", "--yes"]).exits(0);
    until("the run ends", || pages.ask(&format!("/runs/{run}")).contains("data-state=\"succeeded\""));
    let inbox = pages.ask("/inbox");
    assert!(inbox.contains("Nothing waits") && !inbox.contains("Burn it"), "{inbox}");
    pages.shows("/activity", &["suggestion 1 was accepted", "suggestion 2 was dismissed: Burn it"]);
    pages.shows("/audit?kind=suggestion_dismissed", &["· a browser", "suggestion=2"]);
    pages.shows("/audit?kind=suggestion_requested", &["suggestion=1", "· a browser"]);
}

#[test]
fn a_suggestion_whose_plan_is_broken_waits_on() {
    let sandbox = suggesting();
    sandbox.file("burn.md", "---\nkind: plan\n---\n");
    let pages = Pages::open(&sandbox);
    let refused = pages.own_post("/suggestions/2/accept", "");
    assert!(refused.starts_with("HTTP/1.1 409 ") && refused.contains("wf check"), "{refused}");
    pages.shows("/inbox", &["Burn it"]);
    // What a login alone does not start, a suggestion does not start either.
    sandbox.file("burn.md", BURNS);
    pages.shows(
        "/inbox",
        &["An approver signs for its run", "/plans/burn.md/start", "wf suggestion accept 2"],
    );
    assert!(!pages.ask("/inbox").contains("/suggestions/2/accept"));
    let refused = pages.own_post("/suggestions/2/accept", "");
    assert!(refused.starts_with("HTTP/1.1 409 ") && refused.contains("starts up to medium"), "{refused}");
    let pages = pages.that_may_look();
    let page = pages.ask("/inbox");
    assert!(page.contains("wf suggestion accept 2") && !page.contains("/suggestions/2/accept"), "{page}");
    assert!(pages.own_post("/suggestions/2/dismiss", "").starts_with("HTTP/1.1 403 "));
}
