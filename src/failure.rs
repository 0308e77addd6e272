use std::fmt::Write as _;

use wf_app::CommandError;
use wf_base::untrusted::styled_line;
use wf_base::untrusted::{BAD, NAME, paint};

/// Returns the text of an error for the user; empty if the command has reported it.
pub fn render(error: &CommandError) -> String {
    if error.message.is_empty() {
        return String::new();
    }
    let mut text = format!("{} {}\n", paint(BAD, "error:"), styled_line(&error.message));
    for more in &error.details {
        let _ = writeln!(text, "       {}", styled_line(more));
    }
    for hint in &error.hints {
        let _ = writeln!(text, "{} {}", paint(NAME, "hint:"), styled_line(hint));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::render;
    use wf_app::{CliExitCode, CommandError};
    use wf_base::name::RunId;
    use wf_base::untrusted::plain;
    use wf_store::{FindError, StoreError};

    fn check(failure: &CommandError, exit: CliExitCode, expected: &str) {
        assert_eq!(failure.exit, exit);
        assert_eq!(plain(&render(failure)), expected);
    }

    #[test]
    fn failures_say_what_to_do() {
        let none = StoreError::NoState("/x/.wf".into());
        let expected = "error: no state in /x/.wf\n\
            hint: run a plan first, or set the state folder with --state\n\
            hint: a plan outside of a workspace (a directory with wf.yaml, or a git repository) \
            has its state in its own directory\n";
        check(&none.into(), CliExitCode::Usage, expected);
        let unknown =
            FindError::Unknown { prefix: "ff".into(), latest: vec![RunId::from_stored("1a2b3c4d5e")] };
        let expected = "error: run not found: `ff`\nhint: the latest runs are 1a2b3c4d\n";
        check(&unknown.into(), CliExitCode::Usage, expected);
    }

    #[test]
    fn a_broken_pipe_is_silent() {
        let gone = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        check(&gone.into(), CliExitCode::Ok, "");
    }
}
