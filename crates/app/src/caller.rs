use crate::{
    CommandError, Host,
    keys::{OwnKey, author},
    state::reader::ViewResources,
};
use wf_base::{
    diag::CheckedFile,
    remedy::{Remedy, UserAction},
    untrusted::styled_line,
};
use wf_store::feed::ActLogin;

/// A wait for a line of a person.
pub type LineReader = Box<dyn FnOnce() -> Result<String, CommandError> + Send>;

/// The caller of a use case: the command line, or a daemon. It knows the environment, hears on the way what the
/// result does not say, and answers questions if a person is there.
pub trait Caller: Sync {
    /// Returns the environment.
    fn host(&self) -> &Host;

    /// Shows a text of whole lines.
    fn message(&self, text: &str);

    /// Shows a text of whole lines, unless quiet is requested.
    fn info(&self, text: &str);

    /// Shows the diagnostics of files; warnings alone, unless quiet is requested.
    fn diagnostics(&self, files: &[CheckedFile]);

    /// Returns a printer of messages with a life of its own.
    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync>;

    /// True if details are requested.
    fn is_verbose(&self) -> bool;

    /// True if a person can be asked.
    fn is_interactive(&self) -> bool;

    /// Asks a person, and returns the line of the answer.
    fn ask(&self, question: &str) -> Result<String, CommandError>;

    /// Returns a reader of the next line of a person, with a life of its own.
    fn line_reader(&self) -> LineReader;

    /// Asks a person without showing the answer, and returns its line.
    fn ask_hidden(&self, question: &str) -> Result<String, CommandError>;

    /// Returns the login that asks; `None`: a person at a command line, or a program of `wf`.
    fn login(&self) -> Option<ActLogin> {
        None
    }

    /// Returns the cache of its views. A command, with a single view, has none.
    fn view_resources(&self) -> ViewResources {
        ViewResources::default()
    }

    /// Returns the words for an act of a person, as the face offers it.
    fn action_words(&self, action: &UserAction) -> String;

    /// Returns the text of a remedy, with these words.
    fn remedy_text(&self, remedy: &Remedy) -> String {
        remedy.render(&|action| self.action_words(action))
    }

    /// Returns the text of a failure, with these words in its remedies.
    fn failure_text(&self, error: &CommandError) -> String {
        error.render(&|action| self.action_words(action))
    }

    /// Shows one line, with any characters.
    fn message_line(&self, line: &str) {
        self.message(&format!("{}\n", styled_line(line)));
    }

    /// Shows one line, with any characters, unless quiet is requested.
    fn info_line(&self, line: &str) {
        self.info(&format!("{}\n", styled_line(line)));
    }
}

/// Returns the key of the person who asks; `None` for a login, which is no person, and for who has no key.
pub(crate) fn person_key(caller: &dyn Caller) -> Option<OwnKey> {
    if caller.login().is_some() { None } else { author(caller.host()) }
}
