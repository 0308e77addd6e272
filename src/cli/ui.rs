use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anstream::{AutoStream, ColorChoice};

use super::args::{Global, When};
use super::{Env, Failure, Workspace};
use crate::report::follow::Volume;

/// Where a command speaks: answers go to standard output, everything about how it came to them
/// to standard error.
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

    /// Standard output; takes colour away where it is not wanted.
    pub fn out(&self) -> AutoStream<io::Stdout> {
        AutoStream::new(
            io::stdout(),
            self.choice(&io::stdout(), is_file(&io::stdout())),
        )
    }

    /// Standard error; takes colour away where it is not wanted.
    pub fn err(&self) -> AutoStream<io::Stderr> {
        AutoStream::new(
            io::stderr(),
            self.choice(&io::stderr(), is_file(&io::stderr())),
        )
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

    /// Answers with bytes as they are.
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

    /// What says something beside the answer when this is gone.
    pub fn teller(&self) -> impl Fn(&str) + use<> {
        let choice = self.choice(&io::stderr(), is_file(&io::stderr()));
        move |text| {
            let _ = AutoStream::new(io::stderr(), choice).write_all(text.as_bytes());
        }
    }

    /// Says something beside the answer, unless quiet is asked for.
    pub fn note(&self, text: &str) {
        if self.volume > Volume::Quiet {
            self.say(text);
        }
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

/// Whether a stream goes into a file.
fn is_file(stream: &impl AsFd) -> bool {
    let own = stream.as_fd().try_clone_to_owned().map(File::from);
    let about = own.and_then(|file| file.metadata());
    about.is_ok_and(|about| about.is_file())
}
