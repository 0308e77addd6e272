use std::{collections::BTreeMap, time::Duration};

use ratatui::{Terminal, backend::TestBackend, crossterm::event::KeyCode};

use super::{
    draw::{WatchContent, draw},
    screen::{ScreenSize, WatchAct, WatchPane, WatchScreen},
};
use wf_app::views::{LinePart, LogLine, LogLines, WatchedRequest, WatchedRun, WatchedStep};
use wf_base::time::Moment;
use wf_core::machine::{RunOutcome, TaskId};
use wf_report::record::RunLifecycle;

/// The widths at which the screen is kept as a picture.
const WIDTHS: [u16; 3] = [60, 100, 200];

const ROWS: u16 = 14;

fn step(name: &str, word: &'static str, reason: &str) -> WatchedStep {
    let begun = word != "pending";
    WatchedStep {
        name: name.to_owned(),
        task_id: begun.then(|| name.parse::<TaskId>().ok()).flatten(),
        word,
        attempts: u32::from(begun),
        took: begun.then_some(Duration::from_millis(65_200)),
        reason: reason.to_owned(),
        nested: None,
    }
}

/// Returns a run as one look has it: rows from `first` on of all.
fn run(life: RunLifecycle, steps: &[WatchedStep], screen: &WatchScreen, size: ScreenSize) -> WatchedRun {
    let query = screen.query(size);
    let mut states: BTreeMap<&'static str, usize> = BTreeMap::new();
    for step in steps.iter().filter(|step| step.word != "pending") {
        let state = if ["verified", "reported"].contains(&step.word) { "succeeded" } else { step.word };
        *states.entry(state).or_insert(0) += 1;
    }
    WatchedRun {
        run: "14eac73c0a1b2c3d4e5f607182930415".into(),
        plan: "backup".into(),
        title: Some("Back up everything".into()),
        life,
        took: Some(Duration::from_secs(125)),
        states,
        unbegun: steps.iter().filter(|step| step.word == "pending").count(),
        total: steps.len(),
        first: query.first,
        steps: steps.iter().skip(query.first).take(query.rows).cloned().collect(),
        ..WatchedRun::default()
    }
}

fn log(lines: &[&str]) -> LogLines {
    let line = |(n, text): (u64, &&str)| {
        let part = |text: &str, style: &str| LinePart { text: text.to_owned(), style: style.to_owned() };
        LogLine { n, parts: vec![part(text, "fg-red bold")], omitted: 0, at: None }
    };
    let lines: Vec<LogLine> = (1_u64..).zip(lines).map(line).collect();
    LogLines { first: 1, total: lines.len() as u64, size: 100, is_whole: false, started: None, lines }
}

/// Draws a screen of a width, and returns its text.
fn picture(screen: &WatchScreen, run: &WatchedRun, log: Option<&LogLines>, width: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, ROWS)).unwrap();
    let content = WatchContent { run, log, has_colours: true };
    terminal.draw(|frame| draw(frame, screen, content)).unwrap();
    let rows = terminal.backend().buffer().content.chunks(usize::from(width)).map(|cells| {
        let row: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        format!("{}\n", row.trim_end())
    });
    rows.collect()
}

/// Compares the pictures of a screen at all widths with the kept ones; `WF_UPDATE=1` keeps them anew.
#[track_caller]
fn is_as_kept(name: &str, screen: &WatchScreen, run: &WatchedRun, log: Option<&LogLines>) {
    #[expect(clippy::disallowed_methods, reason = "whoever runs the tests asks for new pictures")]
    let is_update = std::env::var("WF_UPDATE").is_ok();
    for width in WIDTHS {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/looking/watch/screens");
        let path = folder.join(format!("{name}-{width}.txt"));
        let text = picture(screen, run, log, width);
        if is_update {
            std::fs::write(&path, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, kept, "{name} at {width}:\n{text}");
    }
}

fn size(columns: u16) -> ScreenSize {
    ScreenSize { columns, rows: ROWS }
}

fn busy() -> Vec<WatchedStep> {
    vec![
        step("copy", "verified", ""),
        step("index", "reported", ""),
        WatchedStep { attempts: 0, ..step("upload", "running", "") },
        step("upload[eu]", "running", ""),
        step("upload[us]", "verifying", ""),
        step("notify", "skipped", "its condition is false"),
        step("publish", "pending", ""),
    ]
}

#[test]
fn a_run_that_goes_on_selects_the_step_at_work() {
    let mut screen = WatchScreen::default();
    let mut run = run(RunLifecycle::Running, &busy(), &screen, size(100));
    run.spent = "1200 tokens, $0.02".into();
    screen.take(&run, size(100));
    assert_eq!(screen.selected(&run).unwrap().name, "upload[eu]");
    is_as_kept("running", &screen, &run, Some(&log(&["first line", "second line"])));
    screen.press(KeyCode::Up, &run, size(100));
    assert!(picture(&screen, &run, None, 200).contains("upload has no attempt of its own."));
    screen.press(KeyCode::End, &run, size(100));
    assert!(picture(&screen, &run, None, 200).contains("publish has not begun."));
}

#[test]
fn a_run_that_waits_says_for_what() {
    let mut screen = WatchScreen::default();
    let steps = [step("build", "verified", ""), step("agree", "waiting", ""), step("publish", "pending", "")];
    let mut run = run(RunLifecycle::Waiting, &steps, &screen, size(100));
    run.requests = vec![
        WatchedRequest {
            name: "agree".into(),
            message: "Publish \u{1b}[2J1.2 \u{202e}?".into(),
            is_question: false,
            expires: Moment::from_millis(1_800_000_000_000),
        },
        WatchedRequest {
            name: "ask".into(),
            message: "Which one?".into(),
            is_question: true,
            expires: Moment::from_millis(1_800_000_000_000),
        },
    ];
    screen.take(&run, size(100));
    is_as_kept("waiting", &screen, &run, None);
    assert_eq!(screen.press(KeyCode::Char('a'), &run, size(100)), WatchAct::Stay);
    is_as_kept("requests", &screen, &run, None);
}

#[test]
fn a_run_that_failed_shows_why_and_what_failed_alone() {
    let mut screen = WatchScreen::default();
    let reason = "check `is_whole` failed\nexpected exit code 0";
    let steps = [step("copy", "verified", ""), step("pack", "failed", reason), step("send", "cancelled", "")];
    let mut run = run(RunLifecycle::Ended(RunOutcome::Failed), &steps, &screen, size(100));
    run.reason = "step `pack` failed".into();
    screen.take(&run, size(100));
    assert_eq!(screen.cursor, 1);
    is_as_kept("failed", &screen, &run, Some(&log(&["cmp: EOF \u{27e8}U+001B\u{27e9}[2J"])));
    screen.press(KeyCode::Char('f'), &run, size(100));
    assert!(screen.query(size(100)).only_failed);
    screen.press(KeyCode::Char('c'), &run, size(100));
    assert!(!screen.asks_cancel && screen.message.contains("nothing to cancel"), "{screen:?}");
}

#[test]
fn a_run_that_ended_well_has_a_graph() {
    let mut screen = WatchScreen::default();
    let steps = [step("copy", "verified", ""), step("pack", "verified", ""), step("send", "reported", "")];
    let mut run = run(RunLifecycle::Ended(RunOutcome::Succeeded), &steps, &screen, size(100));
    is_as_kept("ended", &screen, &run, None);
    screen.press(KeyCode::Char('g'), &run, size(100));
    assert!(screen.query(size(100)).has_layers);
    run.layers = vec![vec![steps[0].clone()], steps[1..].to_vec()];
    is_as_kept("graph", &screen, &run, None);
    run.layers.clear();
    assert!(picture(&screen, &run, None, 100).contains("The plan is not drawn"));
}

#[test]
fn five_thousand_items_are_looked_through_a_window_at_a_time() {
    let mut screen = WatchScreen::default();
    let items: Vec<WatchedStep> = (0..5_000)
        .map(|at| step(&format!("probe[{at}]"), if at == 4_321 { "failed" } else { "verified" }, ""))
        .collect();
    let look = |screen: &WatchScreen| run(RunLifecycle::Running, &items, screen, size(100));
    for key in [KeyCode::End, KeyCode::Up, KeyCode::PageUp] {
        let shown = look(&screen);
        assert_eq!(shown.steps.len(), size(100).body_rows());
        screen.press(key, &shown, size(100));
    }
    let shown = look(&screen);
    assert_eq!(
        screen.selected(&shown).unwrap().name,
        format!("probe[{}]", 5_000 - 2 - size(100).body_rows())
    );
    is_as_kept("items", &screen, &shown, None);
    screen.press(KeyCode::Home, &shown, size(100));
    assert_eq!((screen.cursor, screen.top), (0, 0));
    // Fewer rows than before: the selection and the window are within them.
    screen.press(KeyCode::End, &look(&screen), size(100));
    let few = run(RunLifecycle::Running, &items[..3], &screen, size(100));
    screen.take(&few, size(100));
    assert_eq!((screen.cursor, screen.top), (2, 0));
}

#[test]
fn keys_move_between_parts_and_scroll_the_output() {
    let mut screen = WatchScreen::default();
    let run = run(RunLifecycle::Running, &busy(), &screen, size(60));
    assert!(!screen.has_log(size(60)) && screen.has_log(size(200)));
    screen.press(KeyCode::Enter, &run, size(60));
    assert_eq!((screen.pane, screen.has_log(size(60))), (WatchPane::Log, true));
    for key in [KeyCode::PageUp, KeyCode::Char('k'), KeyCode::Down] {
        screen.press(key, &run, size(60));
    }
    assert_eq!(screen.log_back, 11);
    screen.press(KeyCode::Home, &run, size(60));
    screen.take_log(100, size(60));
    assert_eq!(screen.log_back, 90);
    screen.press(KeyCode::End, &run, size(60));
    assert_eq!(screen.log_back, 0);
    screen.press(KeyCode::Esc, &run, size(60));
    screen.press(KeyCode::Char('j'), &run, size(60));
    assert_eq!((screen.pane, screen.cursor), (WatchPane::Steps, 1));
    screen.press(KeyCode::Char('a'), &run, size(60));
    assert_eq!(screen.message, "Nothing waits for an answer.");
    screen.press(KeyCode::Char('?'), &run, size(60));
    is_as_kept("help", &screen, &run, None);
    assert_eq!(screen.press(KeyCode::Char('o'), &run, size(60)), WatchAct::OpenPage);
    assert_eq!(screen.press(KeyCode::Char('q'), &run, size(60)), WatchAct::Leave);
}

#[test]
fn a_run_is_cancelled_after_a_yes_alone() {
    let mut screen = WatchScreen::default();
    let run = run(RunLifecycle::Running, &busy(), &screen, size(60));
    for other in [KeyCode::Char('n'), KeyCode::Enter, KeyCode::Char('q'), KeyCode::Char('c')] {
        screen.press(KeyCode::Char('c'), &run, size(60));
        assert!(screen.asks_cancel && picture(&screen, &run, None, 100).contains("Cancel the run?"));
        assert_eq!(screen.press(other, &run, size(60)), WatchAct::Stay);
        assert!(!screen.asks_cancel);
    }
    screen.press(KeyCode::Char('c'), &run, size(60));
    assert_eq!(screen.press(KeyCode::Char('y'), &run, size(60)), WatchAct::Cancel);
}

#[test]
fn a_terminal_without_room_is_no_failure() {
    let mut screen = WatchScreen::default();
    for (columns, rows) in [(0, 0), (1, 1), (3, 2), (20, 3)] {
        let size = ScreenSize { columns, rows };
        let run = run(RunLifecycle::Running, &busy(), &screen, size);
        screen.take(&run, size);
        for key in [KeyCode::Down, KeyCode::Enter, KeyCode::Char('g'), KeyCode::End, KeyCode::Char('s')] {
            screen.press(key, &run, size);
        }
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let content = WatchContent { run: &run, log: Some(&log(&["one"])), has_colours: false };
        terminal.draw(|frame| draw(frame, &screen, content)).unwrap();
    }
}
