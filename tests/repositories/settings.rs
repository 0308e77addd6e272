//! Every setting of a repository that names a program, with every question to git.

use std::fs;

use super::{PLAN, sh, wf, workspace};
use crate::support::Sandbox;

/// A setting, its value, and a command that heeds it. `@` is the program, `@hooks` a folder in which every
/// hook is the program, `@file` settings in which `core.fsmonitor` is the program.
const SETTINGS: [[&str; 3]; 31] = [
    ["core.fsmonitor", "@", "git status"],
    ["include.path", "@file", "git status"],
    ["includeIf.gitdir:/**.path", "@file", "git status"],
    ["core.hooksPath", "@hooks", "git commit -q --allow-empty -m x"],
    ["core.editor", "@", "git commit -q --allow-empty"],
    ["sequence.editor", "@", "git stash -q; git rebase -i HEAD~1"],
    ["core.pager", "@", "script -qec 'git log' /dev/null"],
    ["pager.log", "@", "script -qec 'git log' /dev/null"],
    ["core.sshCommand", "@", "git ls-remote ssh://localhost/x"],
    ["core.gitProxy", "@", "git ls-remote git://localhost/x"],
    ["core.askPass", "@", "echo url=https://localhost | git credential fill"],
    ["credential.helper", "@", "echo url=https://localhost | git credential fill"],
    ["core.alternateRefsCommand", "@", "git rev-list --alternate-refs"],
    ["remote.origin.uploadpack", "@", "git -c remote.origin.url=. ls-remote origin"],
    ["remote.origin.receivepack", "@", "git -c remote.origin.url=. push -q origin HEAD:x"],
    [
        "uploadpack.packObjectsHook",
        "@",
        // Git heeds it from the settings of the user alone.
        "export HOME=$PWD; git config --global uploadpack.packObjectsHook $PROGRAM; git clone -q --no-local . x",
    ],
    ["diff.external", "@", "git diff"],
    ["diff.all.command", "@", "git diff"],
    ["diff.all.textconv", "@", "git diff"],
    ["difftool.x.cmd", "@", "git difftool -y -t x"],
    ["filter.all.clean", "@", "git add plan.md"],
    ["filter.all.process", "@", "git add plan.md"],
    ["filter.all.smudge", "@", "git checkout -- plan.md"],
    ["merge.all.driver", "@ %A", "git stash -q; git merge side"],
    ["gpg.program", "@", "git commit -q -S --allow-empty -m x"],
    ["gpg.ssh.program", "@", "git -c gpg.format=ssh -c user.signingkey=/k commit -q -S --allow-empty -m x"],
    ["gpg.ssh.defaultKeyCommand", "@", "git -c gpg.format=ssh commit -q -S --allow-empty -m x"],
    ["gpg.x509.program", "@", "git -c gpg.format=x509 commit -q -S --allow-empty -m x"],
    ["trailer.sign.command", "@", "echo x | git interpret-trailers"],
    ["alias.x", "!@", "git x"],
    [
        "gc.recentObjectsHook",
        "@",
        "touch -d 2020-01-01 .git/objects/$(echo x | git hash-object -w --stdin | cut -c-2)/*; git prune --expire=1.hour.ago",
    ],
];

/// What leads to questions to git: the command, its exit code, and what it says.
const QUESTIONS: [(&[&str], i32, &str); 4] = [
    // The commit, its list of files, a file.
    (&["diff", "plan.md"], 1, "- sh helper.sh"),
    (&["goal", "read", "--commit", "main"], 0, "\"nightly\""),
    // The tracked files, and the version of a file that was approved: all its versions.
    (&["run", "plan.md", "--require-approval"], 4, "-   - {id: a, run: sh helper.sh}"),
    // The repository is the source of a skill.
    (&["skill", "import", "--dry-run", "git:.#main:tables"], 0, "tables"),
];

/// The workspace with a branch to merge, borrowed objects and attributes, in which the plan was changed.
fn place() -> Sandbox {
    let house = workspace();
    let script = r#"echo '* filter=all diff=all merge=all' > .gitattributes
        git checkout -q -b side; echo '# side' >> plan.md; git commit -qam side; git checkout -q main
        echo '# main' >> plan.md; git add .; git commit -qm main
        git clone -q --bare . ../lender; echo ../../../lender/objects > .git/objects/info/alternates
        mkdir ../hooks; for hook in pre-commit post-index-change reference-transaction post-checkout
        do ln -s ../program ../hooks/$hook; done
        echo '[core] fsmonitor = '\"${PWD%/*}/program\" > ../file
        printf '#!/bin/sh\ntouch "%s/trace" 2> /dev/null\nkill -9 $PPID\n' "${PWD%/*}" > ../program
        chmod +x ../program"#;
    sh(&house, "ws", script).exits(0);
    house.file("ws/plan.md", PLAN.replace("helper", "other"));
    house
}

/// True if the program was started since the last time.
fn was_started(house: &Sandbox) -> bool {
    fs::remove_file(house.at("trace")).is_ok()
}

fn value(house: &Sandbox, value: &str) -> String {
    let at = |path: &str| house.at(path).display().to_string();
    let value = value.replace("@hooks", &at("hooks")).replace("@file", &at("file"));
    value.replace('@', &at("program"))
}

/// Asks all questions.
fn ask(house: &Sandbox, setting: &str) {
    for (args, code, says) in QUESTIONS {
        let did = wf(house, args);
        let all = did.all();
        assert_eq!(did.code, Some(code), "{setting}: {args:?}: {all}");
        assert!(all.contains(says), "{setting}: {args:?} does not say {says}: {all}");
        assert!(!was_started(house), "{setting}: {args:?} started the program");
    }
}

#[test]
fn no_setting_of_a_repository_has_a_program_started() {
    let house = place();
    ask(&house, "none");
    let plant = |name: &str, text: &str| format!("git config '{name}' '{}'", value(&house, text));
    for [name, text, heeded_by] in SETTINGS {
        let plant = plant(name, text);
        // It works: in a copy, since what heeds it changes much.
        let program = house.at("program").display().to_string();
        let control = format!(
            "cp -a ws copy; cd copy; {plant}; export PROGRAM='{program}' TERM=xterm; set +e; {heeded_by}; cd ..; rm -rf copy"
        );
        let did = sh(&house, ".", &control);
        assert!(was_started(&house), "`{heeded_by}` does not heed {name}: {}", did.all());
    }
    // Some at once, since each question starts git many times; then all.
    sh(&house, "ws", "cp .git/config ../config").exits(0);
    for some in SETTINGS.chunks(6) {
        for [name, text, _] in some {
            sh(&house, "ws", &plant(name, text)).exits(0);
        }
        ask(&house, &some.iter().map(|[name, ..]| *name).collect::<Vec<_>>().join(", "));
        sh(&house, "ws", "cp ../config .git/config").exits(0);
    }
    for [name, text, _] in SETTINGS {
        sh(&house, "ws", &plant(name, text)).exits(0);
    }
    ask(&house, "all");
}
