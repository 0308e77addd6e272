//! Variables of whoever starts wf, and the settings of its user.

use super::{sh, wf, workspace};
use crate::support::Did;

/// Where a skill is fetched from, over a connection that a program makes.
const SOURCE: &str = "ssh://localhost:1/x";

#[test]
fn no_variable_of_the_caller_chooses_a_program_or_settings() {
    let house = workspace();
    let script =
        "printf '#!/bin/sh\\n: > \"%s/trace\"\\nexit 1\\n' \"${PWD%/*}\" > ../program; chmod +x ../program
        git config -f ../settings core.sshCommand \"${PWD%/*}/program\"";
    sh(&house, "ws", script).exits(0);
    let program = house.at("program").display().to_string();
    let settings = house.at("settings").display().to_string();
    let parameter = format!("'core.sshCommand={program}'");
    let trace = || std::fs::remove_file(house.at("trace")).is_ok();
    let count = ("GIT_CONFIG_COUNT", "1");
    for vars in [
        &[("GIT_SSH_COMMAND", program.as_str())][..],
        &[("GIT_SSH", &program)],
        &[("GIT_CONFIG_GLOBAL", &settings)],
        &[("GIT_CONFIG_SYSTEM", &settings)],
        &[("GIT_CONFIG_PARAMETERS", &parameter)],
        &[count, ("GIT_CONFIG_KEY_0", "core.sshCommand"), ("GIT_CONFIG_VALUE_0", &program)],
    ] {
        // Git itself heeds them.
        let mut control = house.program("git");
        Did::of(control.args(["ls-remote", SOURCE]).envs(vars.iter().copied()));
        assert!(trace(), "git does not heed {vars:?}");
        let mut import = house.unaccepted(&["skill", "import", &format!("git:{SOURCE}#main:tables")]);
        import.current_dir(house.at("ws")).envs(vars.iter().copied());
        Did::of(&mut import).exits(2).says("git fetch failed");
        assert!(!trace(), "{vars:?}");
    }
}

#[test]
fn no_variable_of_the_caller_leads_to_another_repository() {
    let house = workspace();
    sh(
        &house,
        "ws",
        "git init -q ../decoy; mv helper.sh other.sh; git add .; cp .git/index ../index; git reset -q --hard",
    )
    .exits(0);
    let at = |path: &str| house.at(path).display().to_string();
    for (name, value) in [
        ("GIT_DIR", at("decoy/.git")),
        ("GIT_WORK_TREE", at("decoy")),
        ("GIT_INDEX_FILE", at("index")),
        ("GIT_OBJECT_DIRECTORY", at("decoy/.git/objects")),
        ("GIT_NAMESPACE", "other".into()),
    ] {
        for (args, says) in [
            (&["diff", "plan.md"][..], "identical"),
            (&["approve", "plan.md", "--yes"], "helper.sh"),
            (&["skill", "import", "--dry-run", "git:.#main:tables"], "tables"),
        ] {
            let _ = std::fs::remove_file(house.at("ws/plan.approval.json"));
            let mut command = house.unaccepted(args);
            command.current_dir(house.at("ws")).env("WF_KEYS", house.at("keys")).env(name, &value);
            let did = Did::of(&mut command);
            assert!(did.code == Some(0) && did.out.contains(says), "{name}: {args:?}: {}", did.all());
        }
    }
}

#[test]
fn the_settings_of_the_user_say_how_to_fetch() {
    let house = workspace();
    let rewrites = format!("[url \"{}/\"]\n\tinsteadOf = https://nowhere.invalid/\n", house.path().display());
    let args = ["skill", "import", "--dry-run", "git:https://nowhere.invalid/ws#main:tables"];
    wf(&house, &args).exits(2).says("git fetch failed");
    house.file("home/.gitconfig", rewrites);
    wf(&house, &args).exits(0).says("tables");
}
