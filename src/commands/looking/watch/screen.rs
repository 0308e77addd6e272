//! The screen of a followed run as a value: what a key changes, and what has to be read for it.

use ratatui::crossterm::event::KeyCode;

use wf_app::views::{WatchQuery, WatchedRun, WatchedStep};
use wf_report::record::RunLifecycle;

/// The width from which the output stands beside the steps.
const WIDE: u16 = 120;

/// The rows of the head and the foot of the screen.
const FRAME_ROWS: u16 = 3;

/// A part of the screen: one at a time, apart from the output on a wide one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchPane {
    #[default]
    Steps,
    Log,
    Graph,
    /// The open requests.
    Requests,
    Help,
}

/// The act for whoever holds the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchAct {
    Stay,
    Leave,
    /// It gives the terminal back, and stops until the shell lets it go on.
    Pause,
    Cancel,
    OpenPage,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    pub columns: u16,
    pub rows: u16,
}

/// The screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchScreen {
    pub pane: WatchPane,
    /// The number of the selected row, from 0.
    pub cursor: usize,
    /// The number of the first row on the screen.
    pub top: usize,
    /// True once a person selected a row: until then the step at work is selected.
    is_chosen: bool,
    pub only_failed: bool,
    /// The lines between the last line of the output and the last one on the screen.
    pub log_back: u64,
    /// True while it asks whether to cancel the run.
    pub asks_cancel: bool,
    /// An answer to the last key; empty: none.
    pub message: String,
}

impl ScreenSize {
    /// Returns the rows between the head and the foot.
    pub fn body_rows(self) -> usize {
        usize::from(self.rows.saturating_sub(FRAME_ROWS))
    }

    /// True if there is room for the output beside the steps.
    pub fn is_wide(self) -> bool {
        self.columns >= WIDE
    }
}

impl WatchScreen {
    /// Returns what is to be read for a screen of a size.
    pub fn query(&self, size: ScreenSize) -> WatchQuery {
        WatchQuery {
            first: self.top,
            rows: size.body_rows(),
            only_failed: self.only_failed,
            has_layers: self.pane == WatchPane::Graph,
        }
    }

    /// True if the output of the selected task is shown.
    pub fn has_log(&self, size: ScreenSize) -> bool {
        self.pane == WatchPane::Log || (self.pane == WatchPane::Steps && size.is_wide())
    }

    /// Returns the selected task.
    pub fn selected<'a>(&self, run: &'a WatchedRun) -> Option<&'a WatchedStep> {
        run.steps.get(self.cursor.checked_sub(run.first)?)
    }

    /// Takes a run that was read: the selection stays within its rows.
    pub fn take(&mut self, run: &WatchedRun, size: ScreenSize) {
        if !self.is_chosen {
            let is_at_work = |step: &WatchedStep| ["running", "verifying", "waiting"].contains(&step.word);
            // A repeated step has no output; its items do.
            let has_output = |step: &WatchedStep| is_at_work(step) && step.attempts > 0;
            let find = |is_wanted: &dyn Fn(&WatchedStep) -> bool| run.steps.iter().position(is_wanted);
            let at_work = find(&has_output).or_else(|| find(&is_at_work));
            if let Some(at) = at_work.or_else(|| find(&|step| step.word == "failed")) {
                self.cursor = run.first + at;
            }
        }
        self.fit(run.total, size);
    }

    /// Moves the selection into the rows, and the window to the selection.
    fn fit(&mut self, total: usize, size: ScreenSize) {
        let rows = size.body_rows().max(1);
        self.cursor = self.cursor.min(total.saturating_sub(1));
        self.top = self.top.clamp((self.cursor + 1).saturating_sub(rows), self.cursor);
        // No row stays empty while there are others.
        self.top = self.top.min(total.saturating_sub(rows));
    }

    /// Changes the screen after a key.
    pub fn press(&mut self, key: KeyCode, run: &WatchedRun, size: ScreenSize) -> WatchAct {
        self.message.clear();
        if std::mem::take(&mut self.asks_cancel) {
            return if key == KeyCode::Char('y') { WatchAct::Cancel } else { WatchAct::Stay };
        }
        match key {
            KeyCode::Char('q') => return WatchAct::Leave,
            KeyCode::Char('o') => return WatchAct::OpenPage,
            KeyCode::Char('c') => self.ask_cancel(run),
            KeyCode::Char('s') | KeyCode::Esc | KeyCode::Left => self.pane = WatchPane::Steps,
            KeyCode::Char('l') | KeyCode::Enter | KeyCode::Right => {
                (self.pane, self.log_back) = (WatchPane::Log, 0);
            }
            KeyCode::Char('g') => self.pane = WatchPane::Graph,
            KeyCode::Char('a') => self.show_requests(run),
            KeyCode::Char('?') => {
                self.pane = if self.pane == WatchPane::Help { WatchPane::Steps } else { WatchPane::Help };
            }
            KeyCode::Char('f') => {
                (self.only_failed, self.pane) = (!self.only_failed, WatchPane::Steps);
                (self.cursor, self.top, self.log_back) = (0, 0, 0);
            }
            _ => self.move_by(key, run, size),
        }
        WatchAct::Stay
    }

    fn ask_cancel(&mut self, run: &WatchedRun) {
        if matches!(run.life, RunLifecycle::Ended(_)) {
            "The run has ended: there is nothing to cancel.".clone_into(&mut self.message);
        } else {
            self.asks_cancel = true;
        }
    }

    fn show_requests(&mut self, run: &WatchedRun) {
        if run.requests.is_empty() {
            "Nothing waits for an answer.".clone_into(&mut self.message);
        } else {
            self.pane = WatchPane::Requests;
        }
    }

    /// Moves the selection, or the output if that is shown alone.
    fn move_by(&mut self, key: KeyCode, run: &WatchedRun, size: ScreenSize) {
        let page = size.body_rows().max(1);
        let (up, down) = match key {
            KeyCode::Up | KeyCode::Char('k') => (1, 0),
            KeyCode::Down | KeyCode::Char('j') => (0, 1),
            KeyCode::PageUp => (page, 0),
            KeyCode::PageDown | KeyCode::Char(' ') => (0, page),
            KeyCode::Home => (usize::MAX, 0),
            KeyCode::End => (0, usize::MAX),
            _ => return,
        };
        if self.pane == WatchPane::Log {
            let lines = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
            self.log_back = self.log_back.saturating_add(lines(up)).saturating_sub(lines(down));
            return;
        }
        self.pane = WatchPane::Steps;
        (self.is_chosen, self.log_back) = (true, 0);
        self.cursor = self.cursor.saturating_sub(up).saturating_add(down);
        self.fit(run.total, size);
    }

    /// Takes the number of lines of the output: no more of them are passed than there are.
    pub fn take_log(&mut self, total: u64, size: ScreenSize) {
        let rows = u64::try_from(size.body_rows()).unwrap_or(u64::MAX).saturating_sub(1);
        self.log_back = self.log_back.min(total.saturating_sub(rows));
    }
}
