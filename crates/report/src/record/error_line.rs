//! The line of an output in which it names its error.

/// The longest line, in characters, and the words by which an output names an error.
const MAX_LINE: usize = 200;
const ERROR_WORDS: [&str; 4] = ["error", "fail", "panic", "exception"];

/// Returns the last line of an output that names an error, or else the last one that is not empty; `None`: all are.
pub fn error_line(output: &str) -> Option<String> {
    let names_error = |line: &&str| {
        let line = line.to_lowercase();
        ERROR_WORDS.iter().any(|word| line.contains(word))
    };
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().rfind(names_error).or_else(|| lines().next_back())?;
    Some(line.chars().take(MAX_LINE).collect())
}

#[cfg(test)]
mod tests {
    use super::error_line;

    #[test]
    fn a_line_names_an_error_or_is_the_last_one() {
        assert_eq!(error_line("one\nError: no file\n  at main\n").as_deref(), Some("Error: no file"));
        assert_eq!(error_line("1 failed\nerror: two\nend").as_deref(), Some("error: two"));
        assert_eq!(error_line("one\ntwo\n\n").as_deref(), Some("two"));
        assert_eq!(error_line("\n  \n"), None);
        assert_eq!(error_line(&"x".repeat(300)).map(|line| line.len()), Some(200));
    }
}
