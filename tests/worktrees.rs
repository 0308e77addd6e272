//! Agents in worktrees, through the real program and real git: they work beside each other, and no change is lost.

use serde_json::json;

use crate::{
    decisions::last,
    support::{Did, Sandbox},
};

/// A plan with agents in worktrees; `more` follows in each `agent`. Each step checks the workspace with its id.
fn plan(ids: &[&str], more: &str) -> String {
    let step = |id: &&str| {
        format!(
            "  - id: {id}\n    agent: {{role: {id}, tools: [read, write, edit, run], workspace: worktree{more}}}\n    \
             allow: {{write: [src]}}\n    timeout: 1m\n    retry: {{max: 1, on: [logical]}}\n    verify:\n      \
             - {{name: good, run: sh check.sh {id}}}\n"
        )
    };
    let steps: String = ids.iter().map(step).collect();
    let sections: String = ids.iter().map(|id| format!("\n## {id}\n\nDo it.\n")).collect();
    format!("---\nkind: plan\nid: beside\nsteps:\n{steps}---\n{sections}")
}

/// A call of a tool, as a scripted model makes it.
fn call(tool: &str, arguments: &serde_json::Value) -> String {
    format!("    - tool_calls: [{{tool: {tool}, arguments: {arguments}}}]\n")
}

fn edit(path: &str, old: &str, new: &str) -> String {
    call("edit", &json!({"path": path, "old": old, "new": new}))
}

pub fn run(script: &str) -> String {
    call("run", &json!({"script": script}))
}

/// A git repository whose agents do the given calls and then say that they are done.
pub fn place(agents: &[(&str, String)], more: &str) -> Sandbox {
    let place = Sandbox::new();
    let ids: Vec<&str> = agents.iter().map(|(id, _)| *id).collect();
    let models = ids.iter().map(|id| format!("  {id}: {{api: scripted, model: replies/{id}.yaml}}\n"));
    let roles = ids.iter().map(|id| format!("  {id}: {id}\n"));
    let (models, roles): (String, String) = (models.collect(), roles.collect());
    place.file("wf.yaml", format!("models:\n{models}roles:\n{roles}"));
    place.file("plan.md", plan(&ids, more)).file("check.sh", "grep -q \"$1 was here\" -r src\n");
    place
        .file(".gitignore", "/.wf/\n/.config/\n/ignored\n")
        .file("src/a.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    for (id, calls) in agents {
        place.file(&format!("replies/{id}.yaml"), format!("- replies:\n{calls}    - text: it is done\n"));
    }
    git(&place, &["init", "-q"]);
    git(&place, &["add", "-A"]);
    git(&place, &["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", "first"]);
    place
}

fn git(place: &Sandbox, args: &[&str]) -> String {
    Did::of(place.program("git").args(args)).exits(0).out
}

/// How many events of a kind the last run has.
fn events(place: &Sandbox, kind: &str) -> u32 {
    let sql = "SELECT count(*) FROM events WHERE kind = ?1";
    place.database().query_row(sql, [kind], |row| row.get(0)).expect("events are counted")
}

/// What agents left at a path, as their runs kept it.
fn kept(place: &Sandbox, path: &str) -> Vec<String> {
    let repository = format!("--git-dir=.wf/runs/{}/worktrees.git", last(place));
    let all = git(place, &[&repository, "for-each-ref", "--format=%(refname)", "refs/wf"]);
    let results = all.lines().filter(|name| name.ends_with("/result"));
    results.map(|name| git(place, &[&repository, "show", &format!("{name}:{path}")])).collect()
}

#[test]
fn what_was_verified_is_merged_and_the_repository_of_the_user_stays() {
    let place = place(
        &[("one", edit("src/a.txt", "one\n", "one was here\n") + &run("git status --short; git add -A"))],
        "",
    );
    place.file("src/mine.txt", "not committed").file("ignored", "not even known");
    let before = [git(&place, &["status", "--short"]), git(&place, &["rev-parse", "HEAD"])];
    place.wf(&["run", "plan.md"]).exits(0).says("1 verified");
    assert!(place.read("src/a.txt").starts_with("one was here\ntwo\n"));
    assert_eq!(place.read("src/mine.txt"), "not committed");
    assert_eq!(git(&place, &["rev-parse", "HEAD"]), before[1]);
    assert_eq!(
        git(&place, &["status", "--short"]),
        format!(" M src/a.txt\n{}", before[0]),
        "nothing is staged"
    );
    let log = place.wf(&["logs", &last(&place), "one", "--calls"]).out;
    assert!(log.contains(" M src/a.txt") && log.contains("?? src/mine.txt"), "it sees the history: {log}");
    assert!(log.contains("Read-only file system"), "it cannot write the repository: {log}");
    let worktrees = place.at(&format!(".wf/runs/{}", last(&place))).join("worktrees");
    assert!(!worktrees.exists(), "the worktree is removed");
    assert_eq!(kept(&place, "src/a.txt"), [place.read("src/a.txt")]);
}

#[test]
fn agents_beside_each_other_change_the_same_file_and_the_checks_of_the_second_did_not_see_both() {
    let place = place(
        &[
            (
                "one",
                edit("src/a.txt", "one\n", "one was here\n")
                    + &run("test -z \"$(grep 'two was' src/a.txt)\""),
            ),
            ("two", edit("src/a.txt", "seven\n", "two was here\n")),
        ],
        "",
    );
    let ran = place.wf(&["run", "plan.md"]).exits(0).says("1 verified, 1 reported");
    ran.says("merged with changes that the workspace has got since");
    assert_eq!(place.read("src/a.txt"), "one was here\ntwo\nthree\nfour\nfive\nsix\ntwo was here\n");
    place.wf(&["show", "--last"]).exits(0).says("which its checks did not see");
    let why = ["one", "two"].map(|id| place.wf(&["why", &last(&place), id]).exits(0).all()).concat();
    assert_eq!(why.matches("it is reported, not verified: it was merged with changes").count(), 1, "{why}");
}

#[test]
fn what_did_not_pass_is_not_merged_and_can_be_looked_at() {
    let place = place(&[("one", edit("src/a.txt", "one\n", "wrong\n"))], "");
    place.wf(&["run", "plan.md"]).exits(1);
    assert!(place.read("src/a.txt").starts_with("one\ntwo\n"));
    assert!(kept(&place, "src/a.txt").iter().all(|left| left.starts_with("wrong\n")));
    assert_eq!(events(&place, "merge_requested"), 0);
}

/// Runs a plan whose two agents change the same line, up to the request.
fn conflict() -> (Sandbox, String) {
    let place = place(
        &[
            ("one", edit("src/a.txt", "four\n", "one was here\n")),
            ("two", edit("src/a.txt", "four\n", "two was here\n")),
        ],
        "",
    );
    let did = place.wf(&["run", "plan.md"]).exits(5).says("conflict with the workspace in src/a.txt");
    (place, did.all())
}

#[test]
fn a_conflict_is_a_request_and_whoever_merged_by_hand_approves() {
    let (place, shown) = conflict();
    let first = place.read("src/a.txt");
    assert!(first.contains("one was here") != first.contains("two was here"), "{first}");
    let told = shown.split("show ").nth(1).and_then(|rest| rest.split(":FILE").next()).expect("it says how");
    let repository = format!("--git-dir=.wf/runs/{}/worktrees.git", last(&place));
    let marked = git(&place, &[&repository, "show", &format!("{told}:src/a.txt")]);
    assert!(marked.contains("<<<<<<<") && marked.contains("one was here") && marked.contains("two was here"));
    place.file("src/a.txt", "one was here\ntwo was here\n");
    place.wf(&["approve", &last(&place), "--yes"]).exits(0);
    place.wf(&["resume", &last(&place)]).exits(0).says("1 verified, 1 reported");
    assert_eq!(place.read("src/a.txt"), "one was here\ntwo was here\n");
}

#[test]
fn a_refused_conflict_fails_the_step_and_the_result_stays() {
    let (place, _) = conflict();
    let first = place.read("src/a.txt");
    place.wf(&["deny", &last(&place), "--reason", "not now", "--yes"]).exits(0);
    place.wf(&["resume", &last(&place)]).exits(1).says("prints the changes");
    assert_eq!(place.read("src/a.txt"), first);
    let both = kept(&place, "src/a.txt").concat();
    assert!(both.contains("one was here") && both.contains("two was here"));
}

fn reviewed() -> Sandbox {
    let place = place(&[("one", edit("src/a.txt", "one\n", "one was here\n"))], ", merge: review");
    place.wf(&["run", "plan.md"]).exits(5).says("merge the changes of the agent");
    assert!(place.read("src/a.txt").starts_with("one\n"));
    place
}

#[test]
fn a_review_shows_the_changes_and_merges_what_was_shown() {
    let place = reviewed();
    // A change elsewhere in the file is merged with it.
    let mine = place.read("src/a.txt").replace("seven", "mine");
    place.file("src/a.txt", mine);
    place.wf(&["approve", &last(&place), "--yes"]).exits(0).says("+one was here");
    place.wf(&["resume", &last(&place)]).exits(0).says("1 reported");
    assert_eq!(place.read("src/a.txt"), "one was here\ntwo\nthree\nfour\nfive\nsix\nmine\n");
}

#[test]
fn a_change_of_a_person_in_the_same_place_is_not_overwritten() {
    let place = reviewed();
    let mine = place.read("src/a.txt").replace("one", "mine");
    place.file("src/a.txt", &mine);
    place.wf(&["approve", &last(&place), "--yes"]).exits(0);
    place.wf(&["resume", &last(&place)]).exits(5).says("conflict with the workspace in src/a.txt");
    assert_eq!(place.read("src/a.txt"), mine);
}

#[test]
fn a_refused_review_merges_nothing() {
    let place = reviewed();
    place.wf(&["deny", &last(&place), "--reason", "not this way", "--yes"]).exits(0);
    place.wf(&["resume", &last(&place)]).exits(1).says("not this way");
    assert!(place.read("src/a.txt").starts_with("one\n"));
}

#[test]
fn files_are_added_removed_linked_and_made_executable() {
    let script = "cd src && rm gone.txt && printf 'one was here' > new.sh && chmod +x new.sh a.txt && ln -s a.txt link \
                  && mkdir -p deep/er && echo x > deep/er/file";
    let place = place(&[("one", run(script))], "");
    place.file("src/gone.txt", "bye");
    place.wf(&["run", "plan.md"]).exits(0);
    assert!(!place.at("src/gone.txt").exists());
    assert_eq!(place.read("src/new.sh"), "one was here");
    assert_eq!(std::fs::read_link(place.at("src/link")).unwrap(), std::path::Path::new("a.txt"));
    assert_eq!(place.read("src/deep/er/file"), "x\n");
    for path in ["src/new.sh", "src/a.txt"] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&place.at(path).metadata().unwrap().permissions());
        assert_ne!(mode & 0o100, 0, "{path}");
    }
}

#[test]
fn what_is_tracked_is_in_the_copy_and_merged_whatever_is_ignored() {
    let script =
        "echo 'one was here' > dist/app.js && rm dist/old.js && echo x > dist/new.js && ls dist > src/seen";
    let place = place(&[("one", run(script))], "");
    let plan = place.read("plan.md").replace("[src]", "[src, dist]").replace("-r src", "-r dist");
    place.file("plan.md", plan).file("check.sh", "grep -q \"$1 was here\" -r dist\n");
    place
        .file(".gitignore", "/.wf/\n/.config/\ndist/\n")
        .file("dist/app.js", "old")
        .file("dist/old.js", "old");
    git(&place, &["add", "-f", "dist/app.js", "dist/old.js"]);
    place.file("dist/app.js", "not committed").file("dist/cache", "mine");
    place.wf(&["run", "plan.md"]).exits(0).says("1 verified");
    assert_eq!(place.read("dist/app.js"), "one was here\n");
    assert!(!place.at("dist/old.js").exists());
    assert!(!place.at("dist/new.js").exists(), "git ignores a new file there");
    assert_eq!(place.read("src/seen"), "app.js\nnew.js\n", "what git ignores is not in the copy");
    assert_eq!(place.read("dist/cache"), "mine");
}

#[test]
fn what_an_agent_leaves_in_a_submodule_is_told_and_not_dropped() {
    let place = place(&[("one", run("echo 'one was here' > src/module/file"))], "");
    git(&place, &["clone", "-q", ".", "src/module"]);
    git(&place, &["add", "src/module"]);
    let did = place.wf(&["run", "plan.md"]).exits(1);
    did.says("files in `src/module` cannot be merged: it is a repository of its own (a submodule)");
    assert!(!place.at("src/module/file").exists());
    assert_eq!(events(&place, "merge_requested"), 0);
}

/// What an agent does to the folder `src/dir`, which has the files `sub/x` and `y`, and to the file `src/file`.
const EXCHANGE: &str = "cd src && mv dir/sub moved && rm -r dir && echo 'one was here' > dir && rm file && mkdir file && echo x > file/x";

#[test]
fn a_folder_becomes_a_file_and_a_file_a_folder() {
    let place = place(&[("one", run(EXCHANGE))], "");
    place.file("src/dir/sub/x", "x").file("src/dir/y", "y").file("src/file", "f");
    std::fs::create_dir_all(place.at("src/dir/empty/deep")).unwrap();
    place.wf(&["run", "plan.md"]).exits(0).says("1 verified");
    assert_eq!(place.read("src/dir"), "one was here\n");
    assert_eq!(place.read("src/moved/x"), "x");
    assert_eq!(place.read("src/file/x"), "x\n");
}

#[test]
fn a_folder_with_a_file_that_the_agent_did_not_have_stays() {
    let place = place(&[("one", run(EXCHANGE))], "");
    place.file("src/dir/sub/x", "x").file("src/dir/y", "y").file("src/file", "f");
    place.file(".gitignore", "/.wf/\n/.config/\n*.o\n").file("src/dir/sub/x.o", "mine");
    let did = place.wf(&["run", "plan.md"]).exits(1);
    did.says("`src/dir` is to become a file, and is a folder with `src/dir/sub/x.o`");
    assert_eq!([place.read("src/dir/y"), place.read("src/dir/sub/x.o")], ["y", "mine"]);
    assert_eq!(place.read("src/file"), "f");
}

#[test]
fn a_folder_that_was_moved_leaves_no_empty_one() {
    let place = place(&[("one", run("mv src/old src/new && echo 'one was here' > src/new/said"))], "");
    place.file("src/old/deep/x", "x");
    // A submodule that is left alone is in nobody's way.
    git(&place, &["clone", "-q", ".", "src/module"]);
    place.wf(&["run", "plan.md"]).exits(0).says("1 verified");
    assert!(place.at("src/module/plan.md").exists());
    assert_eq!(place.read("src/new/deep/x"), "x");
    assert!(!place.at("src/old").exists());
}

#[test]
fn no_program_that_the_worktree_names_is_run() {
    let script = "cd src && printf '* filter=evil diff=evil merge=evil\\n' > .gitattributes && echo 'one was here' > b.txt";
    let place = place(&[("one", run(script))], "");
    let evil = format!("sh -c 'touch {}; cat'", place.at("ran").display());
    for key in ["filter.evil.clean", "filter.evil.smudge", "diff.evil.command", "merge.evil.driver"] {
        git(&place, &["config", key, &evil]);
    }
    git(&place, &["config", "core.fsmonitor", &evil]);
    place.wf(&["run", "plan.md"]).exits(0);
    assert!(!place.at("ran").exists(), "git ran a program");
    assert_eq!(place.read("src/b.txt"), "one was here\n");
}

#[test]
fn a_workspace_that_is_no_repository_is_refused() {
    let place = place(&[("one", run("true"))], "");
    std::fs::remove_dir_all(place.at(".git")).unwrap();
    place
        .wf(&["run", "plan.md"])
        .exits(1)
        .says("needs a workspace that is the top folder of a git repository");
}

#[test]
fn a_merge_is_made_once_and_whole_wherever_the_engine_dies() {
    let script = "cd src && for n in 1 2 3; do echo 'one was here' > $n.txt; done; echo end >> a.txt";
    let mut died = 0;
    for point in (20..200).step_by(9).map(|point| format!("engine:{point}")).chain(["merge.file".into()]) {
        let place = place(&[("one", run(script))], "");
        let mut engine = place.command(&["run", "plan.md"]);
        let code = engine.env("WF_CRASH", &point).output().unwrap().status.code();
        let begun = place.wf(&["show", "--last"]).code == Some(0);
        if code == Some(0) || !begun {
            continue;
        }
        died += 1;
        let resumed = place.wf(&["resume", &last(&place)]);
        let over = resumed.code == Some(0) || resumed.all().contains("finished: succeeded");
        assert!(over, "at {point}: {}", resumed.all());
        for path in ["src/1.txt", "src/2.txt", "src/3.txt"] {
            assert_eq!(place.read(path), "one was here\n", "at {point}");
        }
        assert!(place.read("src/a.txt").ends_with("seven\nend\n"), "at {point}");
        assert_eq!(events(&place, "merge_ended"), 1, "at {point}");
        assert!(!place.at(&format!(".wf/runs/{}", last(&place))).join("worktrees").exists(), "at {point}");
    }
    assert!(died > 2, "it never died");
}

/// A program that lets its model work: it executes the scripts that the model asks for, in the shell.
const PROGRAM: &str = r#"import json, os, subprocess, sys, urllib.request

messages = [{"role": "user", "content": json.loads(sys.stdin.readline())["text"]}]
while True:
    body = json.dumps({"model": os.environ["WF_MODEL"], "messages": messages}).encode()
    headers = {"content-type": "application/json", "x-api-key": os.environ["WF_MODEL_TOKEN"]}
    url = os.environ["WF_MODEL_URL"] + "/v1/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
        message = json.load(reply)["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        script = json.loads(call["function"]["arguments"])["script"]
        did = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": did.stdout + did.stderr})
print(json.dumps({"type": "answer", "text": message["content"]}))
"#;

/// The same as [`place`], with programs as agents.
pub fn place_of_programs(agents: &[(&str, String)]) -> Sandbox {
    let place = place(agents, "");
    let programs = "engine: command, command: [python3, agent.py]";
    let plan = place.read("plan.md").replace("tools: [read, write, edit, run]", programs);
    place.file("plan.md", plan).file("agent.py", PROGRAM);
    place
}

#[test]
fn programs_work_in_copies_and_what_passed_is_merged() {
    let place = place_of_programs(&[
        ("one", run("sed -i 's/^one$/one was here/' src/a.txt; pwd; git status --short; git add -A")),
        ("two", run("sed -i 's/^seven$/two was here/' src/a.txt; echo new > src/new.txt")),
    ]);
    let head = git(&place, &["rev-parse", "HEAD"]);
    place.wf(&["run", "plan.md"]).exits(0).says("1 verified, 1 reported");
    assert_eq!(place.read("src/a.txt"), "one was here\ntwo\nthree\nfour\nfive\nsix\ntwo was here\n");
    assert_eq!(place.read("src/new.txt"), "new\n");
    assert_eq!(git(&place, &["rev-parse", "HEAD"]), head);
    let log = place.wf(&["logs", &last(&place), "one", "--calls"]).out;
    assert!(log.contains(" M src/a.txt") && log.contains("Read-only file system"), "{log}");
    assert!(log.contains(place.at("").display().to_string().trim_end_matches('/')), "{log}");
    assert!(!place.at(&format!(".wf/runs/{}", last(&place))).join("worktrees").exists());
}

#[test]
fn what_a_program_left_that_did_not_pass_is_not_merged_and_the_next_attempt_goes_on_with_it() {
    let place = place_of_programs(&[("one", run("cat src/a.txt; echo wrong >> src/a.txt"))]);
    place.wf(&["run", "plan.md"]).exits(1);
    assert!(!place.read("src/a.txt").contains("wrong"));
    assert_eq!(
        kept(&place, "src/a.txt").iter().map(|text| text.matches("wrong").count()).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(events(&place, "merge_started"), 0);
}
