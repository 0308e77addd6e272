//! Several workspaces in one server: an address of its own for each, one login, one home.

use std::{collections::BTreeSet, io::Read as _, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};

use super::{ASKS, GOAL, Pages, REFUTED, last_run, samples::compare::fits, suggestions::suggesting};
use crate::support::Sandbox;
use wf_sign::{DsseEnvelope, Signer, canonical};

/// A plan that a login starts.
const WRITES: &str = "\
---
kind: plan
id: write
title: Of the shop alone
steps:
  - {id: write, allow: {write: [out]}, artifacts: [out/report], run: 'mkdir -p out; echo sold | tee out/report'}
---
";

/// A plan for which an approver signs.
const BURNS: &str = "---\nkind: plan\nid: burn\nsteps:\n  - {id: burn, run: touch burnt}\n---\n";

/// Two workspaces in one server: `shop`, whose state has the logins, and `lab`.
pub struct Both {
    pub shop: Sandbox,
    pub lab: Sandbox,
    pub pages: Pages,
}

impl Both {
    /// Serves two workspaces, and others that the options name.
    pub fn open(shop: Sandbox, lab: Sandbox, others: &[&str]) -> Self {
        let folder = |name: &str, sandbox: &Sandbox| format!("{name}={}", sandbox.path().display());
        let (first, second) = (folder("shop", &shop), folder("lab", &lab));
        let mut options = vec!["--listen", "127.0.0.1:0", "--workspace", &first, "--workspace", &second];
        options.extend(others.iter().flat_map(|other| ["--workspace", other]));
        let pages = Pages::open_with(&Sandbox::new(), &options);
        Self { shop, lab, pages }
    }
}

/// Returns two workspaces with everything that pages lead to in the second one.
fn furnished() -> (Sandbox, Sandbox) {
    let (shop, lab) = (Sandbox::new(), suggesting());
    shop.file("write.md", WRITES);
    shop.wf(&["run", "write.md"]).exits(0);
    lab.file("goals/mirror.md", GOAL).file("prices.md", REFUTED).file("release.md", ASKS);
    lab.file("outer.md", "---\nkind: plan\nid: outer\nsteps:\n  - {id: all, uses: inner.md}\n---\n");
    lab.file(
        "inner.md",
        WRITES.replace("write\ntitle", "inner\ntitle").replace("Of the shop alone", "The inner one"),
    );
    for (plan, code) in [("prices.md", 1), ("prices.md", 1), ("outer.md", 0), ("release.md", 5)] {
        lab.wf(&["run", plan]).exits(code);
    }
    (shop, lab)
}

/// Returns all addresses of this server in a page.
fn addresses(page: &str) -> BTreeSet<String> {
    let attribute = regex::Regex::new(
        "(?:href|action|formaction|src|data-request|data-output|data-step|data-from)=[\"'](/[^\"']*)[\"']",
    );
    let found = attribute.unwrap();
    let found = found.captures_iter(page).map(|found| found[1].replace("&amp;", "&"));
    found.map(|address| address.split('#').next().unwrap_or_default().to_owned()).collect()
}

/// Follows all links of the second workspace, each of which must stay there, and returns them.
fn crawled(pages: &Pages) -> BTreeSet<String> {
    let is_shared = |address: &str| {
        let file = address.rsplit_once('.').map(|(_, ending)| ending);
        address == "/" || address == "/w/shop/" || matches!(file, Some("js" | "css" | "svg"))
    };
    let (mut known, mut open) = (BTreeSet::new(), vec!["/w/lab/".to_owned()]);
    while let Some(address) = open.pop() {
        let page = pages.ask(&address);
        let status = page.get(9..12).unwrap_or_default();
        let is_form = status == "400" && !address.contains('?');
        // Behind the last record may come another one.
        let is_next = status == "404" && address.starts_with("/w/lab/audit/");
        let leads_within = page.contains("\r\nlocation: ?") || page.contains("\r\nlocation: /w/lab/");
        let is_there =
            matches!(status, "200" | "405") || is_form || is_next || status == "303" && leads_within;
        assert!(is_there, "{address}: {page}");
        assert!(!page.contains("Of the shop alone"), "{address} shows what is in another workspace: {page}");
        if status == "200" && page.contains("content-type: text/html") {
            assert!(page.contains("data-base=\"/w/lab\""), "{address}: {page}");
        }
        for found in addresses(&page) {
            assert!(is_shared(&found) || found.starts_with("/w/lab/"), "{address} leads to {found}: {page}");
            if !is_shared(&found) && known.len() < 500 && known.insert(found.clone()) {
                open.push(found);
            }
        }
    }
    known
}

#[test]
fn no_link_of_a_workspace_leaves_it() {
    let (shop, lab) = furnished();
    let both = Both::open(shop, lab, &[]);
    let pages = &both.pages;
    let known = crawled(pages);
    let is_known = |part: &str| known.iter().any(|address| address.contains(part));
    for part in [
        "/w/lab/runs/",
        "?tab=graph",
        "?tab=files",
        "/files/",
        "/steps/",
        "/log.txt",
        "/output?",
        "/diff",
        "/w/lab/inbox/",
        "/suggestions/",
        "/w/lab/goals/mirror",
        "/goals/mirror/pause",
        "/w/lab/plans/",
        "/start?from=",
        "/source",
        "/w/lab/schedule",
        "/w/lab/audit/",
        "/w/lab/keys",
        "/w/lab/me",
        "/w/lab/more",
        "/w/lab/logout",
        "/cancel",
    ] {
        assert!(is_known(part), "{part} is not among {known:?}");
    }
    // The links of pictures, of what is found, and of what is sent.
    let graph = known.iter().find(|address| address.ends_with("?tab=graph")).unwrap();
    pages.shows(graph, &["<a href=\"/w/lab/runs/"]);
    pages.shows("/w/lab/search?q=mirror", &["href=\"/w/lab/goals/mirror\""]);
    let leads =
        |answer: &str, place: &str| assert!(answer.contains(&format!("location: {place}")), "{answer}");
    leads(&pages.own_post("/w/lab/goals/mirror/pause", "reason=rain"), "/w/lab/goals/mirror\r\n");
    leads(&pages.own_post("/w/lab/suggestions/2/dismiss", ""), "/w/lab/inbox\r\n");
    leads(&pages.own_post("/w/lab/me/name", "name=ada"), "/w/lab/me\r\n");
    leads(&pages.ask("/w/lab/review/1a/2"), "/w/lab/inbox/1a/2\r\n");
    assert!(addresses(&pages.ask("/w/lab/none")).contains("/w/lab/runs"), "a refusal leads on, too");
}

#[test]
fn home_has_what_every_workspace_needs() {
    let (shop, lab) = furnished();
    let both = Both::open(shop, lab, &[]);
    let (pages, lab) = (&both.pages, &both.lab);
    let home = pages.view("/");
    let groups = home["workspaces"].as_array().unwrap();
    assert_eq!((&groups[0]["problem"], &groups[0]["page"]), (&Value::Null, &"/w/shop/".into()));
    assert_eq!(groups[1]["home"]["requests"][0]["plan"], "release");
    let failed = format!("href=\"/w/lab/runs/{}", groups[1]["home"]["failures"][0]["id"].as_str().unwrap());
    let page = pages.ask("/");
    for text in [
        failed.as_str(),
        "Nothing waits for an answer, nothing is wrong, and nothing runs.",
        "<span>lab</span><span class=\"count\">1</span>",
        "href=\"/w/lab/inbox/",
        "<a href=\"/\" aria-current=\"page\"><svg",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("href=\"/runs"), "{page}");
    // One search finds what any of them has, and leads there.
    assert!(page.contains("action=\"/search\""), "{page}");
    let found = pages.view("/search?q=mirror");
    fits("search", "", &found);
    assert_eq!(found["groups"][0]["name"], "Goals in lab", "{found}");
    pages.shows("/search?q=mirror", &["href=\"/w/lab/goals/mirror\""]);
    pages.shows("/search?q=write", &["Plans in shop", "href=\"/w/shop/plans/write", "Runs in shop"]);
    pages.shows("/search?q=nowhere+at+all", &["Nothing is found"]);
    // Each page has the way to all others.
    let to_all = "<a href=\"/\">All workspaces</a>";
    let to_this = "<a href=\"/w/lab/\" aria-current=\"true\">lab</a> <span class=\"count\">1</span>";
    pages.shows("/w/lab/runs", &[to_all, to_this, "<a href=\"/w/shop/\">shop</a>"]);
    // A new run is heard of at the home of all.
    let heard = super::runs::events(pages.connect("/events"));
    let mut versions = heard.filter(|[name, ..]| name == "log").map(|[_, id, _]| id);
    let before = versions.next().unwrap();
    lab.wf(&["run", "prices.md"]).exits(1);
    assert_ne!(versions.next().unwrap(), before);
}

#[test]
fn a_workspace_that_cannot_be_opened_is_a_row_and_the_others_work() {
    let (broken, newer) = (Sandbox::new(), Sandbox::new());
    broken.file("wf.yaml", "# a mistake\nretention: {max_runs: many}\n");
    newer.file("one.md", WRITES);
    newer.wf(&["run", "one.md"]).exits(0);
    let later = "INSERT INTO migrations (number, checksum) SELECT max(number) + 1, 'x' FROM migrations";
    newer.database().execute(later, []).unwrap();
    let others = [
        // In a folder that is another workspace.
        format!("gone={}", broken.at("no/more").display()),
        format!("broken={}", broken.path().display()),
        format!("newer={}", newer.path().display()),
    ];
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let both = Both::open(Sandbox::new(), Sandbox::new(), &others);
    let pages = &both.pages;
    let home = pages.view("/");
    fits("workspaces", "", &home);
    fits("home", "", &home["workspaces"][1]["home"]);
    pages.shows("/search?q=x", &["Not searched, since they cannot be opened: gone, broken, newer."]);
    let listed = pages.view("/api/v1/workspaces");
    assert_eq!(listed["workspaces"][1]["api"], "/w/lab/api/v1", "{listed}");
    let page = pages.ask("/");
    for (at, error, remedy) in [
        (2, "there is no folder /", "put it back"),
        (3, "wf.yaml:2: ", "wf check wf.yaml"),
        (4, "supports", "use that program"),
    ] {
        let (group, program) = (&home["workspaces"][at], &listed["workspaces"][at]);
        let says = |text: &Value, part: &str| text.as_str().is_some_and(|text| text.contains(part));
        assert!(says(&group["problem"]["error"], error) && says(&program["problem"], error), "{group}");
        assert!(says(&group["problem"]["remedy"], remedy) && says(&program["remedy"], remedy), "{program}");
        assert!(page.contains(error) && page.contains(remedy), "{page}");
    }
    for (path, remedy) in [
        ("/w/gone/", "put it back"),
        ("/w/gone/runs", "put it back"),
        ("/w/gone/metrics", "put it back"),
        ("/w/newer/runs", "use that program"),
    ] {
        let page = pages.ask(path);
        assert!(page.starts_with("HTTP/1.1 503 ") && page.contains(remedy), "{page}");
    }
    assert!(!broken.at("no").exists(), "nothing is made there");
    pages.shows("/w/lab/", &["Nothing waits for an answer"]);
}

#[test]
fn a_name_that_is_none_and_a_path_that_leads_out_say_what_is_there() {
    let both = Both::open(Sandbox::new(), Sandbox::new(), &[]);
    let pages = &both.pages;
    for path in ["/w/nope", "/w/nope/runs", "/w/nope/../lab/runs", "/w/%2e%2e/etc", "/w/lab%2fruns", "/w"] {
        let page = pages.ask(path);
        assert!(
            page.starts_with("HTTP/1.1 404 ") && page.contains("This server has shop, lab."),
            "{path}: {page}"
        );
        assert!(page.contains("href=\"/w/lab/\""), "{path}: {page}");
    }
    for path in ["/w/lab/../shop/", "/w/lab/../../etc/passwd", "/w/lab/runs/../../shop", "/runs", "/login/x"]
    {
        assert!(pages.ask(path).starts_with("HTTP/1.1 404 "), "{path}");
    }
    for path in ["/w/lab", "/w/lab/", "/w/lab/runs", "/", "/me", "/keys"] {
        pages.shows(path, &["<h1"]);
    }
    let json = |path: &str| {
        let mut answer = String::new();
        pages.connect(path).read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        let error: Value = serde_json::from_str(answer.split("\r\n\r\n").last().unwrap()).unwrap();
        error["error"]["remedy"].as_str().unwrap().to_owned()
    };
    assert!(json("/api/v1/runs").contains("/w/NAME/api/v1"));
    assert!(json("/w/nope/api/v1/runs").contains("shop, lab"));
    assert!(json("/w/lab/api/v1/nothing").contains("openapi.json"));
    let document = pages.view("/w/lab/api/v1/openapi.json");
    assert_eq!(document["servers"][0]["url"], "/w/lab");
    let mut guest = pages_of(pages);
    guest.cookie.clear();
    for path in ["/", "/w/lab/", "/w/nope", "/api/v1/workspaces", "/events", "/w/lab/metrics"] {
        let page = guest.ask(path);
        assert!(page.starts_with("HTTP/1.1 401 ") && !page.contains("shop"), "{path}: {page}");
    }
}

/// Returns the same server for another browser.
fn pages_of(pages: &Pages) -> Pages {
    let child = Sandbox::new().program("true").spawn().unwrap();
    Pages { child, host: pages.host.clone(), cookie: pages.cookie.clone() }
}

/// Returns the logins to several workspaces in a state.
fn logins_in(sandbox: &Sandbox) -> String {
    let files = std::fs::read_dir(sandbox.at(".wf")).unwrap().map(|file| file.unwrap().file_name());
    let names = files.filter_map(|name| name.into_string().ok());
    let is_shared = |name: &String| name.starts_with("logins-") && !name.contains("lock");
    names.filter(is_shared).map(|name| sandbox.read(&format!(".wf/{name}"))).collect()
}

#[test]
fn a_login_opens_no_workspace_that_it_was_not_made_for() {
    let (shop, lab) = (Sandbox::new(), Sandbox::new());
    let alone = Pages::open(&shop);
    let away = Sandbox::new();
    away.file("key.json", shop.wf(&["serve", "link", "--token", "--may", "start"]).exits(0).out);
    std::fs::set_permissions(away.at("key.json"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let runs_at = |server: &str| away.wf(&["--server", server, "--server-key", "key.json", "runs"]);
    runs_at(&alone.origin()).exits(0);
    drop(alone);
    let both = Both::open(shop, lab, &[]);
    for base in ["/w/shop", "/w/lab"] {
        runs_at(&format!("{}{base}", both.pages.origin())).exits(2).says("have a new one made there");
    }
}

#[test]
fn a_folder_from_elsewhere_makes_no_login() {
    let both = Both::open(Sandbox::new(), Sandbox::new(), &[]);
    let stranger = Sandbox::new();
    let noted: Value = serde_json::from_str(&both.lab.read(".wf/logins.json")).unwrap();
    let mut noted = noted["sites"][0].clone();
    noted["origin"] = "http://evil.example".into();
    stranger.file(".wf/logins.json", json!({"sites": [noted], "links": {}, "browsers": {}}).to_string());
    stranger.wf(&["serve", "link"]).exits(6).says("no server of this workspace answers");
    let elsewhere = tempfile::tempdir().unwrap();
    noted["logins"]["state"] = elsewhere.path().display().to_string().into();
    stranger.file(".wf/logins.json", json!({"sites": [noted], "links": {}, "browsers": {}}).to_string());
    stranger.wf(&["serve", "link"]).exits(6);
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0, "nothing was written there");
}

#[test]
fn one_login_is_for_all_and_is_named_where_it_acted() {
    let guarded = || {
        let sandbox = Sandbox::new();
        sandbox.file("goals/mirror.md", GOAL);
        sandbox
    };
    let both = Both::open(guarded(), guarded(), &[]);
    let Both { shop, lab, pages } = &both;
    pages.own_post("/w/lab/goals/mirror/pause", "reason=rain");
    pages.shows("/w/lab/audit?kind=goal_paused", &["· a browser"]);
    let other = pages.view("/w/shop/audit?kind=goal_paused");
    assert_eq!(other["page"]["records"], json!([]), "nothing happened there: {other}");
    // The logins are in the state of the first, and a link is made in the folder of any.
    assert_eq!(logins_in(shop).matches("\"access\":\"start\"").count(), 1);
    for alone in [shop, lab] {
        assert!(!alone.read(".wf/logins.json").contains("\"access\""), "a login to one is another one");
    }
    assert_eq!(logins_in(lab), "");
    let link = lab.wf(&["serve", "link", "--may", "look", "--for", "eve"]).exits(0).out;
    let mut looker = pages_of(pages);
    looker.log_in(&link.trim()[pages.origin().len()..]);
    for name in ["lab", "shop"] {
        looker.shows(&format!("/w/{name}/goals/mirror"), &["may only look"]);
        let refused = looker.own_post(&format!("/w/{name}/goals/mirror/pause"), "");
        assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    }
    let printed = lab.wf(&["serve", "link", "--token", "--may", "operate"]).exits(0).out;
    let token: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(token["url"], format!("{}/w/lab", pages.origin()), "{token}");
    // It ends for all, wherever it is ended.
    let me = looker.view("/me")["id"].as_str().unwrap().to_owned();
    let ended = pages.own_post(&format!("/w/lab/logins/{me}/end"), "");
    assert!(ended.starts_with("HTTP/1.1 303 "), "{ended}");
    pages.shows("/w/lab/audit?kind=login_ended", &[&me]);
    assert!(looker.ask("/w/shop/").starts_with("HTTP/1.1 401 "));
    let out = pages.own_post("/w/lab/logout", "");
    assert!(out.contains("location: /\r\n") && out.contains("Max-Age=0"), "{out}");
    assert!(pages.ask("/w/shop/").starts_with("HTTP/1.1 401 "));
}

#[test]
fn a_signature_made_in_one_workspace_counts_in_no_other() {
    let phone = Signer::from_bytes(&[7; 32]);
    let signing = || {
        let sandbox = Sandbox::new();
        sandbox.file("burn.md", BURNS);
        sandbox.wf(&["key", "enrol", "phone", &phone.public().hex(), "--yes"]).exits(0);
        sandbox
    };
    let (shop, lab) = (signing(), signing());
    lab.file("approvers.yaml", shop.read("approvers.yaml"));
    let both = Both::open(shop, lab, &[]);
    let Both { shop, lab, pages } = &both;
    // The page of the keys says where a key counts, wherever it is asked.
    let places =
        |page: &str| pages.view(&format!("{page}?key={}", phone.public().hex()))["known"]["places"].clone();
    for page in ["/keys", "/w/lab/keys"] {
        assert_eq!(
            places(page),
            json!(["Enrolled as phone in shop.", "Enrolled as phone in lab."]),
            "{page}"
        );
    }
    lab.wf(&["key", "revoke", "phone"]).exits(0);
    let revoked = places("/w/shop/keys");
    assert!(revoked[1].as_str().unwrap().starts_with("Revoked in lab: it was phone's"), "{revoked}");
    lab.file("approvers.yaml", shop.read("approvers.yaml"));
    let start = |name: &str| format!("/w/{name}/plans/burn/start");
    let form = pages.ask(&start("shop"));
    let value = |name: &str| {
        let (_, rest) = form.split_once(&format!("name=\"{name}\" value=\"")).expect("it is a form");
        rest.split('"').next().unwrap()
    };
    let fields = format!("key={}&plan_digest={}", value("key"), value("plan_digest"));
    let drafted = pages.own_post(&format!("{}/draft", start("shop")), &fields);
    let draft: Value = serde_json::from_str(drafted.split("\r\n\r\n").last().unwrap()).unwrap();
    let text = |key: &str| draft[key].as_str().unwrap();
    let envelope = DsseEnvelope::seal(text("payload_type"), text("payload").as_bytes(), &phone);
    let token = canonical(&serde_json::to_value(&envelope).unwrap()) + "\n";
    let token: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let sent = format!("{fields}&token={token}");
    let refused = pages.own_post(&start("lab"), &sent);
    assert!(refused.starts_with("HTTP/1.1 422 ") && refused.contains("for another workspace"), "{refused}");
    pages.shows("/w/lab/runs", &["No run matches"]);
    let started = pages.own_post(&start("shop"), &sent);
    assert!(started.contains("location: /w/shop/runs/"), "{started}");
    shop.until_runs_end();
    let run = last_run(shop);
    assert!(pages.ask(&format!("/w/lab/runs/{run}")).starts_with("HTTP/1.1 404 "), "it is not there");
}

#[test]
fn a_workspace_of_several_is_used_from_another_machine() {
    let (shop, lab) = (Sandbox::new(), Sandbox::new());
    lab.file("write.md", WRITES);
    let both = Both::open(shop, lab, &[]);
    let Both { lab, pages, .. } = &both;
    let away = Sandbox::new();
    away.file("key.json", lab.wf(&["serve", "link", "--token", "--may", "start"]).exits(0).out);
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(away.at("key.json"), private).unwrap();
    let wf = |name: &str, args: &[&str]| {
        let server = format!("{}{name}", pages.origin());
        away.wf(&[&["--server", &server, "--server-key", "key.json"], args].concat())
    };
    wf("/w/lab", &["list"]).exits(0).says("Of the shop alone");
    wf("/w/lab", &["run", "write"]).exits(0).says("succeeded").says("/w/lab");
    assert_eq!(wf("/w/lab/", &["show", "--last", "--artifact", "out/report"]).exits(0).out, "sold\n");
    assert_eq!(wf("/w/lab", &["runs"]).out, lab.wf(&["runs"]).out);
    wf("/w/shop", &["runs"]).exits(0).says("no matching runs");
    wf("", &["runs"]).exits(2).says("/w/NAME/api/v1");
    wf("/w/nope", &["runs"]).exits(2).says("There is no workspace `nope` here").says("shop, lab");
    wf("/pages", &["runs"]).exits(2).says("`/w/WORKSPACE`");
}

#[test]
fn workspaces_that_cannot_be_told_apart_are_refused() {
    let (sandbox, other) = (Sandbox::new(), Sandbox::new());
    let (here, there) = (sandbox.path().display().to_string(), other.path().display().to_string());
    let serve =
        |args: &[&str]| sandbox.wf(&[&["serve", "--no-open", "--listen", "127.0.0.1:0"], args].concat());
    let refused = |folders: &[&str], why: &str| {
        let args: Vec<&str> = folders.iter().flat_map(|folder| ["--workspace", folder]).collect();
        serve(&args).exits(2).says(why);
    };
    refused(&[&here, "."], "is named twice");
    refused(&["x="], "names no folder");
    sandbox.file("inner/wf.yaml", "");
    refused(&[&here, "inner"], "lies in");
    refused(&[&format!("x={here}"), &format!("x={there}")], "two workspaces are named `x`");
    refused(&[&format!("a/b={here}"), &there], "`a/b` is no name of a workspace");
    serve(&["--state", "s", "--workspace", &here])
        .exits(2)
        .says("--state is the state folder of one workspace");
    serve(&["--workspace", "none/1", "--workspace", "none/2"]).exits(6).says("there is no folder /");
    // One workspace has the addresses of the server, as ever.
    let pages = Pages::open_with(&other, &["--listen", "127.0.0.1:0", "--workspace", &here]);
    pages.shows("/", &["Nothing waits for an answer", "action=\"/search\""]);
    let listed = pages.view("/api/v1/workspaces");
    assert_eq!(
        (&listed["workspaces"][0]["api"], &listed["workspaces"][0]["page"]),
        (&"/api/v1".into(), &"/".into())
    );
    assert!(pages.ask("/w/x/").starts_with("HTTP/1.1 404 ") && !pages.ask("/").contains("All workspaces"));
}
