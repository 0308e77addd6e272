use std::{
    borrow::Cow,
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
};

use anstream::{AutoStream, ColorChoice};

use super::{
    Terminal,
    actions::command_text,
    args::{ColorMode, GlobalArgs},
    log_prefix::LogPrefix,
};
use crate::terminal::{read_hidden, read_line};
use wf_app::{Caller, CommandError, Host, LineReader, git::place_in_repository};
use wf_base::{
    diag::{CheckedFile, Severity},
    remedy::UserAction,
    untrusted::{self, styled, styled_line},
};
use wf_report::{
    follow::Verbosity,
    mistakes::{annotations, summary, text},
};

/// The output of a command: answers go to standard output, messages about the way to them go to
/// standard error.
///
/// **Invariant:** besides [`Ui::print_bytes`], only the styles of `wf` and line ends get to a
/// terminal or a log as they are; other controls are visible marks, or escapes in JSON.
#[derive(Clone)]
pub struct Ui {
    /// The environment.
    pub host: Host,
    /// The terminal.
    pub terminal: Terminal,
    /// The verbosity.
    pub verbosity: Verbosity,
    color: ColorMode,
    log: Option<LogPrefix>,
}

impl Ui {
    /// The output as the options request it.
    pub fn new(host: Host, global: &GlobalArgs) -> Self {
        let verbosity = match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let terminal = Terminal::find(host.var("COLUMNS"));
        let log = global.service_log.as_deref().map(|goal| LogPrefix::new(&host, goal));
        Self { host: host.with_state(global.state.as_deref()), terminal, verbosity, color: global.color, log }
    }

    /// The same output, of a command in another environment.
    pub fn with_host(&self, host: Host) -> Self {
        Self { host, ..self.clone() }
    }

    /// The same output, with the time before each line.
    pub fn with_times(mut self) -> Self {
        self.log.get_or_insert_with(|| LogPrefix::new(&self.host, ""));
        self
    }

    /// Standard output, for whole texts; strips colours where they are not wanted.
    pub fn out(&self) -> impl Write + Send + use<> {
        let choice = self.color_choice(&io::stdout(), is_file(&io::stdout()));
        self.guarded(AutoStream::new(io::stdout(), choice), io::stdout())
    }

    /// Standard error, for whole texts; strips colours where they are not wanted.
    pub fn err(&self) -> impl Write + Send + use<> {
        let choice = self.color_choice(&io::stderr(), is_file(&io::stderr()));
        self.guarded(AutoStream::new(io::stderr(), choice), io::stderr())
    }

    fn guarded<W: Write, S: AsFd>(&self, out: W, stream: S) -> SanitizedWriter<W, S> {
        SanitizedWriter { out, stream, log: self.log.clone(), in_actions: self.host.in_actions() }
    }

    /// True if standard output shows colours.
    pub fn colors(&self) -> bool {
        self.color_choice(&io::stdout(), is_file(&io::stdout())) != ColorChoice::Never
    }

    /// Prints an answer.
    pub fn print(&self, text: &str) -> Result<(), CommandError> {
        let mut out = self.out();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Prints one line of an answer, with any characters.
    pub fn print_line(&self, line: &str) -> Result<(), CommandError> {
        self.print(&format!("{}\n", styled_line(line)))
    }

    /// Prints JSON: invisible characters are escaped, and the values are unchanged.
    pub fn print_json(&self, text: &str) -> Result<(), CommandError> {
        self.print_bytes(untrusted::json(text).as_bytes())
    }

    /// Prints bytes as they are, where the user asked for exactly these.
    #[expect(clippy::unused_self, reason = "where answers go is for the face to say")]
    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
        Ok(())
    }

    /// Prints a message beside the answer. A closed stream is ignored.
    pub fn print_message(&self, text: &str) {
        let _ = self.err().write_all(text.as_bytes());
    }

    /// Prints one line beside the answer, with any characters.
    pub fn print_message_line(&self, line: &str) {
        self.print_message(&format!("{}\n", styled_line(line)));
    }

    /// True if nothing but answers and errors is to be printed.
    pub fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    /// Prints a message beside the answer, unless quiet is requested.
    pub fn print_info(&self, text: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.print_message(text);
        }
    }

    /// Prints one line beside the answer, unless quiet is requested.
    pub fn print_info_line(&self, line: &str) {
        self.print_info(&format!("{}\n", styled_line(line)));
    }

    fn color_choice(&self, stream: &impl anstream::stream::RawStream, is_file: bool) -> ColorChoice {
        match self.color {
            ColorMode::Always => ColorChoice::Always,
            ColorMode::Never => ColorChoice::Never,
            // The log of GitHub Actions shows colours, and is not a terminal; a file is for programs.
            ColorMode::Auto if self.host.in_actions() && !is_file => ColorChoice::Always,
            ColorMode::Auto if is_file => ColorChoice::Never,
            ColorMode::Auto => AutoStream::choice(stream),
        }
    }
}

impl Caller for Ui {
    fn host(&self) -> &Host {
        &self.host
    }

    fn action_words(&self, action: &UserAction) -> String {
        command_text(action)
    }

    fn message(&self, text: &str) {
        self.print_message(text);
    }

    fn info(&self, text: &str) {
        self.print_info(text);
    }

    fn diagnostics(&self, files: &[CheckedFile]) {
        if files.iter().all(|file| file.diagnostics.is_empty()) {
            return;
        }
        let has_errors = files.iter().any(|file| file.count(Severity::Error) > 0);
        if self.verbosity == Verbosity::Quiet && !has_errors {
            return;
        }
        let drawn: String = files.iter().map(|file| text(file, self.terminal.width)).collect();
        self.print_message(&drawn);
        self.print_message(&summary(files));
        if self.host.in_actions() {
            // They are commands for GitHub, with their own escapes.
            let _ = io::stderr()
                .lock()
                .write_all(annotations(files, &place_in_repository(self.host.cwd())).as_bytes());
        }
    }

    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        let choice = self.color_choice(&io::stderr(), is_file(&io::stderr()));
        let (in_actions, log) = (self.host.in_actions(), self.log.clone());
        Box::new(move |text| {
            let (out, stream) = (AutoStream::new(io::stderr(), choice), io::stderr());
            let _ = SanitizedWriter { out, stream, log: log.clone(), in_actions }.write_all(text.as_bytes());
        })
    }

    fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    fn is_interactive(&self) -> bool {
        self.terminal.is_interactive
    }

    fn ask(&self, question: &str) -> Result<String, CommandError> {
        self.print_message(question);
        read_line()
    }

    fn line_reader(&self) -> LineReader {
        Box::new(read_line)
    }

    fn ask_hidden(&self, question: &str) -> Result<String, CommandError> {
        let answer = read_hidden(|| self.print_message(question));
        self.print_message("\n");
        answer
    }
}

/// A writer for output safe to display. Each write is a whole text.
struct SanitizedWriter<W, S> {
    out: W,
    stream: S,
    log: Option<LogPrefix>,
    in_actions: bool,
}

impl<W: Write, S: AsFd> Write for SanitizedWriter<W, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let safe = styled(&text);
        let safe = if self.in_actions { Cow::Owned(without_commands(&safe)) } else { safe };
        let safe = match &self.log {
            Some(log) => Cow::Owned(log.add_to(&safe, &self.stream)),
            None => safe,
        };
        self.out.write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Lines harmless to GitHub Actions, no commands for it: it obeys `::` at the beginning of a line,
/// and `##[` anywhere.
pub(super) fn without_commands(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let line = line.replace("##[", "⟨U+0023⟩#[");
        let body = line.trim_start();
        let (indent, _) = line.split_at(line.len() - body.len());
        match body.strip_prefix("::") {
            Some(rest) => plain.extend([indent, "⟨U+003A⟩:", rest]),
            None => plain.push_str(&line),
        }
    }
    plain
}

/// True if a stream goes into a file.
fn is_file(stream: &impl AsFd) -> bool {
    let own = stream.as_fd().try_clone_to_owned().map(File::from);
    let about = own.and_then(|file| file.metadata());
    about.is_ok_and(|about| about.is_file())
}

#[cfg(test)]
mod tests {
    use super::without_commands;

    #[test]
    fn a_line_is_no_command() {
        for (text, shown) in [
            ("a :: b\n", "a :: b\n"),
            ("a\n  ::error::b\n", "a\n  ⟨U+003A⟩:error::b\n"),
            ("a ##[add-mask]b", "a ⟨U+0023⟩#[add-mask]b"),
        ] {
            assert_eq!(without_commands(text), shown);
        }
    }
}
