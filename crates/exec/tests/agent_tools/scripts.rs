use std::{fs, time::Duration};

use tokio::{sync::watch, time::Instant};

use crate::{
    NamedTest,
    scene::{SECRET, ToolScene, block_on, run},
};
use wf_base::redact::SecretMask;
use wf_core::agent::ToolRequest;
use wf_exec::{ProcessExecutor, StopLevel, agent_tool::run_tool};

pub(crate) const TESTS: &[NamedTest] = &[
    ("scripts_report_output_and_exit", scripts_report_output_and_exit),
    ("a_flood_of_output_is_cut", a_flood_of_output_is_cut),
    ("nothing_runs_on", nothing_runs_on),
    ("a_script_ends_at_its_timeout", a_script_ends_at_its_timeout),
    ("a_script_can_be_stopped", a_script_can_be_stopped),
    ("a_dropped_call_ends_its_script", a_dropped_call_ends_its_script),
    ("a_script_has_the_rights_of_the_step", a_script_has_the_rights_of_the_step),
    ("secrets_are_masked_at_every_place", secrets_are_masked_at_every_place),
];

fn scripts_report_output_and_exit() {
    for mut scene in ToolScene::both() {
        scene.site.command.env.push(("WORD".into(), "hello".into()));
        let streams = "echo $WORD; echo err >&2; echo out; pwd | sed 's|.*/||'";
        assert_eq!(scene.gives(&run(streams)), "hello\nerr\nout\nws\n[exit code 0]");
        assert_eq!(scene.gives(&run("true")), "[no output; exit code 0]");
        assert_eq!(scene.refuses(&run("printf x; exit 3")), "x\n[exit code 3]");
        assert_eq!(scene.refuses(&run("kill -9 $$")), "[no output; killed by signal 9]");
        assert_eq!(
            scene.gives(&run("#!/bin/false\nread line || echo \"no input: $0 $#\"")),
            "no input: sh 0\n[exit code 0]"
        );
        assert!(scene.refuses(&run("if then")).ends_with("[exit code 2]"));
        assert!(scene.refuses(&run(&"x".repeat(200_000))).contains("too long"), "an argument of the system");
        scene.gives(&run("echo new > out/new.txt"));
        assert_eq!(scene.text("out/new.txt"), "new\n");
        scene.site.command.cwd = scene.at("src");
        assert_eq!(scene.gives(&run("ls")), "main.rs\n[exit code 0]");
    }
}

fn a_flood_of_output_is_cut() {
    for mut scene in ToolScene::both() {
        let flood = "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last";
        let text = scene.gives(&run(flood));
        assert!(text.starts_with("first\nxxx") && text.ends_with("xxx\nlast\n[exit code 0]"), "{text}");
        assert!(text.chars().count() < 16_100, "{}", text.len());
        let (head, rest) = text.split_once("\n[… ").unwrap();
        let (number, tail) = rest.split_once(" bytes cut …]\n").unwrap();
        let shown = head.len() + tail.len() - "[exit code 0]".len();
        assert_eq!(number.parse::<usize>().unwrap() + shown, 100_000_012);
        scene.site.output_limit = Some(1_000_000);
        assert!(scene.refuses(&run("yes")).ends_with("[output exceeds 1000000 bytes]"));
    }
}

/// The living processes whose command line contains a word.
fn living(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(word)).count()
}

fn nothing_runs_on() {
    for (at, scene) in ToolScene::both().into_iter().enumerate() {
        let sleep = format!("sleep 30{at}.{}", std::process::id());
        for start in [
            format!("{sleep} &"),
            format!("nohup {sleep} > /dev/null 2>&1 &"),
            format!("setsid {sleep} > /dev/null 2>&1 < /dev/null &"),
            format!("(setsid sh -c '{sleep} & exit' > /dev/null 2>&1 &) ; :"),
            format!("trap '' TERM HUP; {sleep} > /dev/null 2>&1 & exit 4"),
        ] {
            let began = Instant::now();
            let text = scene.call(&run(&format!("{start}\necho started"))).text;
            assert!(text.starts_with("started") || text.contains("exit code 4"), "{start}: {text}");
            assert_eq!(living(&sleep.replace(' ', "\0")), 0, "{start}");
            assert!(began.elapsed() < Duration::from_secs(10), "{start}");
        }
    }
}

fn a_script_ends_at_its_timeout() {
    for mut scene in ToolScene::both() {
        let slow =
            |timeout_seconds| ToolRequest::Run { script: "echo begun; sleep 60".into(), timeout_seconds };
        let began = Instant::now();
        assert_eq!(scene.refuses(&slow(Some(1))), "begun\n[ended at its timeout of 1 s]");
        scene.site.time_left = Some(Duration::from_millis(600));
        assert_eq!(scene.refuses(&slow(Some(30))), "begun\n[ended at its timeout of 0.6 s]");
        let stubborn = "trap '' TERM; echo begun; while :; do sleep 1; done";
        assert_eq!(scene.refuses(&run(stubborn)), "begun\n[ended at its timeout of 0.6 s]");
        scene.site.time_left = Some(Duration::ZERO);
        assert_eq!(scene.refuses(&slow(None)), "no time of the attempt is left");
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

fn a_script_can_be_stopped() {
    for scene in ToolScene::both() {
        let (stop, stopped) = watch::channel(StopLevel::No);
        let request = run("echo begun; sleep 60");
        let outcome = block_on(async {
            let work = run_tool(&ProcessExecutor::InProcess, &scene.site, &request, stopped);
            let later = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                stop.send_replace(StopLevel::Gently);
            };
            tokio::join!(work, later).0
        });
        assert!(outcome.is_error && (900..20_000).contains(&outcome.duration_ms), "{outcome:?}");
        assert_eq!(outcome.text, "begun\n[cancelled]");
    }
}

fn a_dropped_call_ends_its_script() {
    for (at, scene) in ToolScene::both().into_iter().enumerate() {
        let sleep = format!("sleep 40{at}.{}", std::process::id());
        let request = run(&format!("{sleep} & touch out/begun; {sleep}"));
        block_on(async {
            let work = run_tool(&ProcessExecutor::InProcess, &scene.site, &request, StopLevel::never());
            assert!(tokio::time::timeout(Duration::from_millis(1_500), work).await.is_err());
        });
        assert!(scene.at("out/begun").exists());
        let word = sleep.replace(' ', "\0");
        let until = Instant::now() + Duration::from_secs(5);
        while living(&word) > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(living(&word), 0);
    }
}

fn a_script_has_the_rights_of_the_step() {
    let mut scene = ToolScene::confined(&["out"]);
    assert!(scene.refuses(&run("echo x > src/main.rs")).contains("Read-only file system"));
    assert!(scene.refuses(&run("cat ../secret")).contains("No such file"));
    assert!(scene.refuses(&run("cat .wf/state")).contains("No such file"));
    // Only the loopback interface is there.
    assert_eq!(scene.gives(&run("tail -n +3 /proc/net/dev | wc -l")), "1\n[exit code 0]");
    scene.site.command.sandbox.as_mut().unwrap().programs = Some(vec!["cat".into()]);
    assert!(scene.gives(&run("cat src/main.rs")).contains("start"));
    assert!(scene.refuses(&run("ls")).contains("not found"));
}

fn secrets_are_masked_at_every_place() {
    for mut scene in ToolScene::both() {
        scene.site.command.env.push(("TOKEN".into(), SECRET.into()));
        assert_eq!(scene.gives(&run("echo $TOKEN; echo $TOKEN >&2")), "***\n***\n[exit code 0]");
        // The parts that are kept of a long output begin and end within secrets, at one distance or another. A
        // long secret leaves so little after masking that all of it is shown.
        let long: String = (0..40).map(|number| format!("part-{number:02}")).collect();
        scene.site.mask = SecretMask::new([long.as_str()]);
        scene.site.command.env.push(("LONG".into(), long.clone()));
        for shift in 0..12 {
            let repeated = "yes \"$LONG\" | tr -d '\\n' | head -c 840000";
            let blanks = format!("printf %{}s", shift * 23 + 1);
            let script = format!("{blanks}; {repeated}; {blanks}");
            let text = scene.gives(&run(&script));
            assert!(!text.contains("part"), "{shift}: {text}");
            assert!(text.contains("bytes cut …]"));
        }
    }
}
