use std::time::Duration;

use clap::Args;
use ratatui::{
    DefaultTerminal,
    crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read},
};
use rustix::process::Signal;

use super::{
    draw::{WatchContent, draw},
    screen::{ScreenSize, WatchAct, WatchScreen},
    stop::StopFlag,
};
use crate::{RunArg, Ui, commands::looking::serve::open_page};
use wf_app::{
    Caller as _, CliExitCode, CommandError, StateReader,
    run_acts::request_cancel,
    views::{LogLines, RunWatcher, WatchedRun},
};
use wf_base::{name::RunId, untrusted::plain};

#[derive(Args, Debug)]
#[command(after_help = "\
Shows the steps of a run, their output and its graph on the whole terminal, while it goes on
and after. Keys: up and down select a step, enter shows its output, g the graph, a what waits
for an answer, c cancels the run, o opens its page, q leaves, ? lists the keys. Leaving it
changes nothing: the run goes on.

Examples:
  wf watch --last     the latest run
  wf watch 1a2b")]
pub struct WatchArgs {
    #[command(flatten)]
    run: RunArg,
}

/// The longest wait for a key: a signal is noticed after it.
const KEY_WAIT: Duration = Duration::from_millis(100);

/// The waits between two looks at the run, which are so half a second apart.
const WAITS_OF_A_LOOK: usize = 5;

/// Follows a run on the whole terminal.
pub fn run(ui: &Ui, args: &WatchArgs) -> Result<CliExitCode, CommandError> {
    let run = args.run.resolve(&StateReader::open(&ui.host.workspace())?)?;
    let is_dumb = ui.host.var("TERM").is_none_or(|term| term == "dumb");
    if !ui.terminal.is_output || is_dumb {
        let other = if ui.terminal.is_output { "by `TERM` this is none" } else { "standard output is none" };
        let reason = format!("`wf watch` needs a terminal that it can draw on, and {other}");
        let hint = format!("wf logs {} --follow prints its output as lines", run.short());
        return Err(CommandError::new(CliExitCode::Usage, reason).hint(hint));
    }
    let stop = StopFlag::listen().map_err(|error| unusable(&error))?;
    let _entered = stop.enter();
    let watcher = RunWatcher::new(&ui.host, run.clone());
    // Its hook restores the terminal before a panic is reported.
    let terminal = ratatui::try_init().map_err(|error| unusable(&error))?;
    let mut watched = WatchLoop { ui, run: &run, watcher, terminal, screen: WatchScreen::default() };
    let followed = watched.follow(&stop);
    ratatui::restore();
    followed?;
    let life = watched.read(ScreenSize { columns: 0, rows: 0 })?.life;
    ui.print_line(&format!("run {} · {}", run.short(), life.as_str()))?;
    Ok(CliExitCode::Ok)
}

fn unusable(error: &std::io::Error) -> CommandError {
    CommandError::new(CliExitCode::Usage, format!("cannot use the terminal: {error}"))
}

/// A run on a terminal.
struct WatchLoop<'a> {
    ui: &'a Ui,
    run: &'a RunId,
    watcher: RunWatcher,
    terminal: DefaultTerminal,
    screen: WatchScreen,
}

impl WatchLoop<'_> {
    /// Shows the run until a key or a signal ends that.
    fn follow(&mut self, stop: &StopFlag) -> Result<(), CommandError> {
        loop {
            let size = self.size()?;
            let run = self.look(size)?;
            let log = self.log(&run, size)?;
            let has_colours = self.ui.colors();
            let content = WatchContent { run: &run, log: log.as_ref(), has_colours };
            let screen = &self.screen;
            self.terminal.draw(|frame| draw(frame, screen, content)).map_err(|error| unusable(&error))?;
            for _ in 0..WAITS_OF_A_LOOK {
                if stop.is_raised() {
                    return Ok(());
                }
                match next_event()? {
                    Some(Event::Key(key)) if key.kind == KeyEventKind::Press => {
                        match self.press(key, &run, size) {
                            WatchAct::Leave => return Ok(()),
                            WatchAct::Pause => self.pause()?,
                            _ => {}
                        }
                        break;
                    }
                    Some(Event::Resize(..)) => break,
                    _ => {}
                }
            }
        }
    }

    fn size(&self) -> Result<ScreenSize, CommandError> {
        let size = self.terminal.size().map_err(|error| unusable(&error))?;
        Ok(ScreenSize { columns: size.width, rows: size.height })
    }

    /// Reads the run; once more if the window moved to what it selects.
    fn look(&mut self, size: ScreenSize) -> Result<WatchedRun, CommandError> {
        let query = self.screen.query(size);
        let run = self.read(size)?;
        self.screen.take(&run, size);
        if self.screen.query(size) == query { Ok(run) } else { self.read(size) }
    }

    fn read(&self, size: ScreenSize) -> Result<WatchedRun, CommandError> {
        let gone = || {
            let reason = format!("the state of run {} is gone", self.run.short());
            CommandError::new(CliExitCode::State, reason)
        };
        self.watcher.look(self.screen.query(size), self.ui.host.now())?.ok_or_else(gone)
    }

    /// Reads the output of the selected task, if it is shown.
    fn log(&mut self, run: &WatchedRun, size: ScreenSize) -> Result<Option<LogLines>, CommandError> {
        let Some(step) = self.screen.selected(run).filter(|_| self.screen.has_log(size)) else {
            return Ok(None);
        };
        let rows = u64::try_from(size.body_rows()).unwrap_or(u64::MAX);
        let log = self.watcher.log(step, self.screen.log_back, rows)?;
        if let Some(log) = &log {
            self.screen.take_log(log.total, size);
        }
        Ok(log)
    }

    fn press(&mut self, key: KeyEvent, run: &WatchedRun, size: ScreenSize) -> WatchAct {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let act = match key.code {
            KeyCode::Char('c') if has_control => WatchAct::Leave,
            KeyCode::Char('z') if has_control => WatchAct::Pause,
            KeyCode::Char(_) if has_control => WatchAct::Stay,
            code => self.screen.press(code, run, size),
        };
        match act {
            WatchAct::Cancel => self.screen.message = self.cancel(),
            WatchAct::OpenPage => self.screen.message = open_page(self.ui, &format!("/runs/{}", self.run)),
            WatchAct::Stay | WatchAct::Leave | WatchAct::Pause => {}
        }
        act
    }

    /// Gives the terminal back and stops, as a shell expects of Ctrl-Z, until the shell lets it go on.
    fn pause(&mut self) -> Result<(), CommandError> {
        ratatui::restore();
        let process_group = rustix::process::getpgrp();
        rustix::process::kill_process_group(process_group, Signal::TSTP)
            .map_err(|error| unusable(&error.into()))?;
        self.terminal = ratatui::try_init().map_err(|error| unusable(&error))?;
        Ok(())
    }

    /// Cancels the run by a process of its own, and says what came of it.
    fn cancel(&self) -> String {
        match request_cancel(self.ui, self.run) {
            Ok(()) => "The run is being cancelled.".to_owned(),
            Err(error) => {
                let text = plain(&self.ui.failure_text(&error));
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Waits a moment for an event of the terminal.
fn next_event() -> Result<Option<Event>, CommandError> {
    let next = poll(KEY_WAIT).and_then(|is_there| is_there.then(read).transpose());
    next.map_err(|error| unusable(&error))
}
