use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};

use super::args::{Global, When};
use super::{Env, Failure, Workspace};
use crate::report::follow::Volume;
use crate::untrusted::{self, styled, styled_line};

/// Where a command speaks: answers go to standard output, everything about how it came to them
/// to standard error.
///
/// **Invariant:** besides [`Ui::print_bytes`], only the styles of `wf` and line ends get to a terminal or a
/// log as they are; other controls are visible marks, or escapes where it is JSON.
pub struct Ui {
    /// The surroundings.
    pub env: Env,
    /// How much is told.
    pub volume: Volume,
    color: When,
    state: Option<PathBuf>,
}

impl Ui {
    /// Speaks as the options ask.
    pub fn new(env: Env, global: &Global) -> Self {
        let volume = match (global.quiet, global.verbose) {
            (true, _) => Volume::Quiet,
            (_, true) => Volume::Verbose,
            _ => Volume::Normal,
        };
        Self {
            env,
            volume,
            color: global.color,
            state: global.state.clone(),
        }
    }

    /// The workspace of the current folder.
    pub fn workspace(&self) -> Workspace {
        self.workspace_of(self.env.cwd())
    }

    /// The workspace of a folder.
    pub fn workspace_of(&self, dir: &Path) -> Workspace {
        Workspace::find(dir, self.state.as_deref(), self.env.cwd())
    }

    /// Standard output, for whole texts; takes colour away where it is not wanted.
    pub fn out(&self) -> impl Write + Send + use<> {
        let choice = self.choice(&io::stdout(), is_file(&io::stdout()));
        self.guarded(AutoStream::new(io::stdout(), choice))
    }

    /// Standard error, for whole texts; takes colour away where it is not wanted.
    pub fn err(&self) -> impl Write + Send + use<> {
        let choice = self.choice(&io::stderr(), is_file(&io::stderr()));
        self.guarded(AutoStream::new(io::stderr(), choice))
    }

    fn guarded<W: Write>(&self, out: W) -> Guarded<W> {
        Guarded {
            out,
            in_actions: self.env.in_actions(),
        }
    }

    /// Whether standard output shows colours.
    pub fn colors(&self) -> bool {
        self.choice(&io::stdout(), is_file(&io::stdout())) != ColorChoice::Never
    }

    /// Answers.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        let mut out = self.out();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// Answers with one line, whatever stands in it.
    pub fn print_line(&self, line: &str) -> Result<(), Failure> {
        self.print(&format!("{}\n", styled_line(line)))
    }

    /// Answers with JSON: what does not show is escaped, and the values stay as they are.
    pub fn print_json(&self, text: &str) -> Result<(), Failure> {
        self.print_bytes(untrusted::json(text).as_bytes())
    }

    /// Answers with bytes as they are, for somebody who asks for just these.
    #[expect(
        clippy::unused_self,
        reason = "where answers go is for the face to say"
    )]
    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(bytes)?;
        out.flush()?;
        Ok(())
    }

    /// Says something beside the answer. If nobody listens, nothing is lost.
    pub fn say(&self, text: &str) {
        let _ = self.err().write_all(text.as_bytes());
    }

    /// Says one line beside the answer, whatever stands in it.
    pub fn say_line(&self, line: &str) {
        self.say(&format!("{}\n", styled_line(line)));
    }

    /// What says something beside the answer when this is gone.
    pub fn teller(&self) -> impl Fn(&str) + use<> {
        let choice = self.choice(&io::stderr(), is_file(&io::stderr()));
        let in_actions = self.env.in_actions();
        move |text| {
            let out = AutoStream::new(io::stderr(), choice);
            let _ = Guarded { out, in_actions }.write_all(text.as_bytes());
        }
    }

    /// Says something beside the answer, unless quiet is asked for.
    pub fn note(&self, text: &str) {
        if self.volume > Volume::Quiet {
            self.say(text);
        }
    }

    /// Says one line beside the answer, unless quiet is asked for.
    pub fn note_line(&self, line: &str) {
        self.note(&format!("{}\n", styled_line(line)));
    }

    fn choice(&self, stream: &impl anstream::stream::RawStream, is_file: bool) -> ColorChoice {
        match self.color {
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
            // The log of GitHub Actions shows colours, and is no terminal; a file is for programs.
            When::Auto if self.env.in_actions() && !is_file => ColorChoice::Always,
            When::Auto if is_file => ColorChoice::Never,
            When::Auto => AutoStream::choice(stream),
        }
    }
}

/// A writer that lets only what is safe to look at pass. Each write is a whole text.
struct Guarded<W> {
    out: W,
    in_actions: bool,
}

impl<W: Write> Write for Guarded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let safe = styled(&text);
        let safe = if self.in_actions {
            Cow::Owned(without_commands(&safe))
        } else {
            safe
        };
        self.out.write_all(safe.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Lines of which GitHub Actions takes none for a command: it obeys `::` at the beginning of a line, and
/// `##[` wherever it stands.
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

/// Whether a stream goes into a file.
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
