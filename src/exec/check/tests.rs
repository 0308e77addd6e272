use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;

use super::{Ground, Trial};
use crate::exec::{Hands, Host, Stop};
use crate::expr::{Ref, Scope, StatusTest, Template};
use crate::machine::{Ruling, Verdict};
use crate::mask::Mask;
use crate::model::{Check, Class, Expect, Probe, Script};
use crate::name::Name;
use crate::time::SystemClock;

struct Nothing;

impl Scope for Nothing {
    fn value(&self, _: &Ref) -> Option<Value> {
        None
    }

    fn test(&self, _: StatusTest, _: Option<&str>) -> bool {
        false
    }
}

fn probe(text: &str) -> Probe {
    Probe::Run(Script {
        shell: ["sh", "-eu", "-c"].map(String::from).into(),
        text: text.into(),
    })
}

async fn rule(root: &Path, probe: Option<Probe>, expect: Expect) -> Verdict {
    let check = Check {
        probe,
        expect,
        timeout: Duration::from_millis(300),
        ..Check::new(Name::parse("it").unwrap())
    };
    let host = ["PATH", "HOME", "TOKEN"].map(|name| {
        let value = if name == "PATH" {
            "/usr/bin:/bin"
        } else {
            "host"
        };
        (name.to_owned(), value.to_owned())
    });
    let ground = Ground {
        hands: Hands::Own,
        root: root.to_path_buf(),
        host: Arc::new(Host::from(host)),
        mask: Mask::new(["hunter22"]),
        clock: Arc::new(SystemClock),
        grace: Duration::from_millis(100),
        params: crate::model::Object::new(),
        around: None,
        pins: None,
        whiteouts: Vec::new(),
    };
    let stop = watch::channel(Stop::No).1;
    Trial::new(&check, &ground, &Nothing).run(stop).await
}

async fn check(text: &str, expect: Expect, ruling: Ruling, part: &str) {
    let dir = tempfile::tempdir().unwrap();
    let verdict = rule(dir.path(), Some(probe(text)), expect).await;
    assert_eq!(verdict.ruling, ruling, "{text}: {verdict:?}");
    let told = format!(
        "{} {} {}",
        verdict.expected, verdict.found, verdict.evidence
    );
    assert!(told.contains(part), "{text}: {told} lacks {part}");
    assert!(!told.contains("hunter22"), "{told}");
}

fn equals(text: &str) -> Expect {
    Expect {
        equals: Some(text.into()),
        ..Expect::default()
    }
}

#[tokio::test]
async fn probes_are_run_and_judged() {
    use Ruling::{Error, Fail, Pass};
    check("true", Expect::default(), Pass, "").await;
    check("echo no >&2; exit 1", Expect::default(), Fail, "no").await;
    check("echo hi", equals("hi"), Pass, "").await;
    check("echo hunter22", equals("hi"), Fail, "***").await;
    check("sleep 5", Expect::default(), Error, "timed out").await;
    check(
        "no_such_program",
        Expect::default(),
        Error,
        "no program `no_such_program`",
    )
    .await;
    check("no_such_program; true", Expect::default(), Error, "127").await;
    check(
        "head -c 3000000 /dev/zero",
        equals("hi"),
        Error,
        "more output",
    )
    .await;
}

#[tokio::test]
async fn a_secret_that_is_cut_off_does_not_show() {
    let script = |before: usize| {
        format!(
            "head -c {before} /dev/zero | tr '\\0' x; printf hunter22; head -c 3000 /dev/zero; false"
        )
    };
    for before in 440..520 {
        let dir = tempfile::tempdir().unwrap();
        let verdict = rule(dir.path(), Some(probe(&script(before))), equals("hi")).await;
        assert!(
            !verdict.evidence.contains("hun") && !verdict.found.contains("hun"),
            "{verdict:?}"
        );
        assert!(!verdict.evidence.contains("er22"), "{verdict:?}");
    }
}

#[tokio::test]
async fn a_probe_sees_a_minimal_environment() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().display();
    let expect = equals(&format!(
        "HOME=host\nPATH=/usr/bin:/bin\nPWD={root}\nWF_WORKSPACE={root}"
    ));
    // What marks its processes is different each time.
    let words = ["env", "-u", "WF_TREE", "env"].map(Template::literal);
    let env = Some(Probe::Exec(words.into()));
    let verdict = rule(dir.path(), env, expect).await;
    assert_eq!(verdict.ruling, Ruling::Pass, "{verdict:?}");
}

#[tokio::test]
async fn files_are_looked_for_inside_the_workspace_only() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/file"), "").unwrap();
    std::fs::write(dir.path().join("outside"), "").unwrap();
    std::os::unix::fs::symlink("sub/file", root.join("link")).unwrap();
    std::os::unix::fs::symlink("../outside", root.join("escape")).unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    for (path, ruling) in [
        ("sub/file", Ruling::Pass),
        ("sub/../sub/file", Ruling::Pass),
        ("link", Ruling::Pass),
        ("sub", Ruling::Fail),
        ("none", Ruling::Fail),
        ("none/deeper", Ruling::Fail),
        ("../outside", Ruling::Error),
        ("../none", Ruling::Error),
        ("escape", Ruling::Error),
        ("up/outside", Ruling::Error),
        ("up/none", Ruling::Error),
        ("/etc/passwd", Ruling::Error),
    ] {
        let expect = Expect {
            file_exists: vec![path.into()],
            ..Expect::default()
        };
        let verdict = rule(&root, None, expect).await;
        assert_eq!(verdict.ruling, ruling, "{path}: {verdict:?}");
        if ruling == Ruling::Error {
            assert!(
                verdict.found.contains("leads out of the workspace"),
                "{verdict:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_failure_has_the_class_of_what_was_printed_last() {
    let dir = tempfile::tempdir().unwrap();
    let refused = "echo 'curl: (7) Failed to connect' >&2; exit 7";
    let late = format!("seq 400000; {refused}");
    let early = "echo 'tool: Connection refused' >&2; seq 1000 >&2; exit 1";
    for (script, class) in [
        (refused, Class::Environmental),
        (&late, Class::Environmental),
        (early, Class::Logical),
        ("kill -9 $$", Class::Environmental),
        ("kill -SEGV $$", Class::Logical),
        ("exit 1", Class::Logical),
    ] {
        let verdict = rule(dir.path(), Some(probe(script)), Expect::default()).await;
        let ruling = if script.contains("kill") {
            Ruling::Error
        } else {
            Ruling::Fail
        };
        assert_eq!(
            (verdict.ruling, verdict.class),
            (ruling, Some(class)),
            "{script}"
        );
    }
}

#[tokio::test]
async fn a_template_without_a_value_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let word = Template::parse("{{ params.none }}", crate::source::Span::default()).unwrap();
    let verdict = rule(dir.path(), Some(Probe::Exec(vec![word])), Expect::default()).await;
    assert_eq!(
        (verdict.ruling, verdict.class),
        (Ruling::Error, Some(Class::Logical))
    );
}
