use wf_app::{ActLogin, Caller, CliExitCode, CommandError, Host, LineReader, views::ViewResources};
use wf_base::{diag::CheckedFile, remedy::UserAction};

/// The caller of a page: nobody hears what is said on the way, and nobody can be asked.
#[derive(Clone)]
pub(crate) struct PageCaller {
    host: Host,
    views: ViewResources,
    action_words: ActionWords,
    /// The login that changes something.
    login: Option<ActLogin>,
}

/// Returns the words of a page for an act of a person.
pub type ActionWords = fn(&UserAction) -> String;

impl PageCaller {
    /// Creates the caller of all pages of a workspace.
    pub fn new(host: Host, action_words: ActionWords) -> Self {
        Self { host, views: ViewResources::default(), action_words, login: None }
    }

    /// Returns the same caller for what a login changes.
    pub fn with_login(&self, login: &ActLogin) -> Self {
        Self { login: Some(login.clone()), ..self.clone() }
    }
}

impl Caller for PageCaller {
    fn host(&self) -> &Host {
        &self.host
    }

    fn login(&self) -> Option<ActLogin> {
        self.login.clone()
    }

    fn view_resources(&self) -> ViewResources {
        self.views.clone()
    }

    fn action_words(&self, action: &UserAction) -> String {
        (self.action_words)(action)
    }

    fn message(&self, _: &str) {}

    fn info(&self, _: &str) {}

    fn diagnostics(&self, _: &[CheckedFile]) {}

    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        Box::new(|_| {})
    }

    fn is_verbose(&self) -> bool {
        false
    }

    fn is_interactive(&self) -> bool {
        false
    }

    fn ask(&self, question: &str) -> Result<String, CommandError> {
        Err(CommandError::new(CliExitCode::Usage, format!("a page cannot ask: {question}")))
    }

    fn line_reader(&self) -> LineReader {
        Box::new(|| Err(CommandError::new(CliExitCode::Usage, "a page cannot ask")))
    }

    fn ask_hidden(&self, question: &str) -> Result<String, CommandError> {
        self.ask(question)
    }
}
