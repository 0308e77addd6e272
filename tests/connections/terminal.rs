//! Where nobody can be asked, and where somebody interrupts.

use super::{KEY, lock, nothing_leaked, place, secrets};
use crate::support::until;

#[test]
fn where_nobody_can_be_asked_nothing_hangs() {
    let place = place();
    lock(&place);
    let add = ["connection", "add", "box", "--skill", "keybox"];
    place.wf(&add).exits(2).says("not a terminal");
    let yes = [&add[..], &["--yes"]].concat();
    place.wf(&yes).exits(2).says("--secret-file token=FILE to read it from a file");
    assert!(secrets(&place).is_empty());
    nothing_leaked(&place);
}

#[test]
fn an_interrupt_takes_everything_back() {
    let place = place();
    let script = place.read("skills/keybox/scripts/setup.sh");
    let slow = script.replace("token=$(cat", "printf partial-of-everything > $WF_REFS_OUT/partial\nread -r more\ncase $more in *cancel*) exit 0;; esac\ntoken=$(cat");
    place.file("skills/keybox/scripts/setup.sh", slow);
    lock(&place);
    let mut args = vec!["connection", "add", "box", "--skill", "keybox", "--yes"];
    args.extend(["--secret-file", "token=key"]);
    let child = place.start(&args);
    let partial = place.at(".wf/secrets/.work/box/out/partial");
    until("the script waits", || partial.exists());
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("was cancelled") && !told.contains(KEY), "{told}");
    assert!(secrets(&place).is_empty());
    nothing_leaked(&place);
    let did = place.wf(&["connection", "list", "--json"]).exits(0);
    assert!(did.out.contains("\"state\":\"proposed\""), "{}", did.out);
}

#[test]
fn a_wf_that_is_killed_leaves_no_script_behind() {
    let place = place();
    let hang = "trap '' TERM HUP INT\nread -r start\nprintf partial-of-everything > $WF_REFS_OUT/partial\nsleep 600\nsleep 600\n";
    place.file("skills/keybox/scripts/setup.sh", hang);
    lock(&place);
    let args = ["connection", "add", "box", "--skill", "keybox", "--yes"];
    let mut child = place.start(&args);
    let partial = place.at(".wf/secrets/.work/box/out/partial");
    until("the script hangs", || partial.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let mark = place.path().display().to_string();
    until("the script is gone", || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        !processes.into_iter().any(|process| {
            let environ = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let text = String::from_utf8_lossy(&environ).into_owned();
            text.contains("WF_REFS_OUT=") && text.contains(&mark)
        })
    });
    // The next command takes back what was lent.
    super::add(&place);
    assert!(!partial.exists());
}
