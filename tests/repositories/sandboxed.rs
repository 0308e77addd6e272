//! Git in sandboxes, wherever the repository keeps its folders: it reads what it reads outside, and can write none of it.

use serde_json::json;

use super::sh;
use crate::{
    support::{Did, Sandbox},
    worktrees::run,
};

/// How a user trusts repositories of others, as settings below the home folder, which is `HOME`, and a variable for git.
const TRUSTS: [(&str, &str, Option<&str>); 4] = [
    (".gitconfig", "[safe]\n\tdirectory = HOME/ws\n", None),
    (".config/git/config", "[safe]\n\tdirectory = *\n", None),
    ("settings", "[safe]\n\tdirectory = HOME/*\n", Some("settings")),
    (".gitconfig", "[safe]\n\tdirectory = /elsewhere\n", None),
];

/// Makes the workspace in the folder `ws`, where the repository is in another folder, or in part.
const LAYOUTS: [(&str, &str); 8] = [
    ("plain", "git clone -q main ws"),
    ("linked worktree", "git -C main worktree add -q ../ws"),
    (
        "worktree of a bare repository",
        "git clone -q --bare main bare.git; git -C bare.git worktree add -q ../ws",
    ),
    (
        "submodule",
        "git init -q super; cd super; git -c protocol.file.allow=always submodule --quiet add ../main mod; cd ..; \
         ln -s super/mod ws",
    ),
    ("below the top", "git clone -q main around; ln -s around/below ws"),
    ("below the top of a linked worktree", "git -C main worktree add -q ../around; ln -s around/below ws"),
    ("folder of its own", "git clone -q --separate-git-dir=apart.git main ws"),
    ("borrowed objects", "git clone -q --shared main ws"),
];

/// Prints the last commit where nothing is to be committed, and then tries to write the repository. What a check writes lasts as
/// little as its sandbox.
const LOOK: &str = "git log -1 --format=seen-%s && test -z \"$(git status --short .)\" && git cat-file -e HEAD:plan.md; \
                    done=$?; touch \"$(git rev-parse --git-dir)/planted\" 2> /dev/null || true; exit $done";

/// A plan in which a step with grants, an agent, a check and a gate look at the repository; at its top, an agent in a
/// worktree, too.
fn plan(is_top: bool) -> String {
    let agent = "role: one, tools: [run]";
    let tree =
        format!("  - {{id: tree, agent: {{{agent}, workspace: worktree}}, allow: {{write: [out]}}}}\n");
    let (tree, task) = if is_top { (tree, "\n## tree\n\nLook.\n") } else { (String::new(), "") };
    format!(
        "---\nkind: plan\nid: look\nsteps:\n  - id: step\n    run: '{LOOK}'\n    allow: {{write: [out]}}\n    \
         verify: [{{name: check, run: '{LOOK}'}}]\n    \
         gates: [{{id: gate, on: before_step, provider: script, run: '({LOOK}) >&2 && echo pass'}}]\n  \
         - {{id: agent, agent: {{{agent}}}, allow: {{write: [out]}}}}\n{tree}---\n\n## agent\n\nLook.\n{task}"
    )
}

/// A repository with that plan at its top and in a folder.
fn house() -> Sandbox {
    let house = Sandbox::new();
    let config = "models:\n  one: {api: scripted, model: replies.yaml}\nroles: {one: one}\n";
    let replies = format!("- replies:\n{}    - text: done\n", run(LOOK));
    for folder in ["main", "main/below"] {
        house
            .file(&format!("{folder}/plan.md"), plan(folder == "main"))
            .file(&format!("{folder}/replies.yaml"), &replies);
        house.file(&format!("{folder}/wf.yaml"), config);
        house.file(&format!("{folder}/out/.keep"), "");
    }
    sh(&house, "main", "git init -q -b main .; git add .; git commit -qm one").exits(0);
    house
}

#[test]
fn git_reads_its_repository_in_every_sandbox_and_writes_none_of_it() {
    for (layout, script) in LAYOUTS {
        let house = house();
        sh(&house, "", script).exits(0);
        let mut wf = house.unaccepted(&["run", "plan.md"]);
        let did = Did::of(wf.current_dir(house.at("ws")));
        assert_eq!(did.code, Some(0), "{layout}: {}{}", did.out, did.err);
        let mut wf = house.unaccepted(&["logs", "--last", "--calls"]);
        let logs = Did::of(wf.current_dir(house.at("ws"))).out;
        let seen = logs.matches("seen-one").count();
        assert_eq!(seen, if layout.starts_with("below") { 1 } else { 2 }, "{layout}: {logs}");
        let found = sh(&house, "", "find . -name planted").out;
        assert_eq!(found, "", "{layout}");
        let mut wf = house.unaccepted(&["doctor", "--json"]);
        let doctor: serde_json::Value =
            serde_json::from_str(&Did::of(wf.current_dir(house.at("ws"))).out).unwrap();
        let has_line = doctor["findings"].as_array().unwrap().iter().any(|one| one["name"] == "repository");
        assert_eq!(json!(has_line), json!(layout != "plain"), "{layout}");
    }
}

#[test]
fn a_repository_of_another_user_works_in_every_sandbox_if_the_user_trusts_it() {
    for (file, text, variable) in TRUSTS {
        let house = house();
        sh(&house, "", "git clone -q main ws; chown -R 12345:12345 ws").exits(0);
        house.file(file, text.replace("HOME", &house.path().display().to_string()));
        let wf = |args: &[&str]| {
            let mut wf = house.unaccepted(args);
            wf.current_dir(house.at("ws")).envs(variable.map(|name| ("GIT_CONFIG_GLOBAL", house.at(name))));
            Did::of(&mut wf)
        };
        let did = wf(&["run", "plan.md"]);
        let doctor = wf(&["doctor"]).out;
        if text.contains("elsewhere") {
            assert_eq!(did.code, Some(1), "{}{}", did.out, did.err);
            assert!(did.all().contains("dubious ownership"), "{}{}", did.out, did.err);
            assert!(doctor.contains("git config --global --add safe.directory"), "{doctor}");
            continue;
        }
        assert_eq!(did.code, Some(0), "{file}: {}{}", did.out, did.err);
        assert_eq!(wf(&["logs", "--last", "--calls"]).out.matches("seen-one").count(), 2, "{file}");
        assert!(doctor.contains("trusted by `safe.directory`"), "{doctor}");
    }
}
