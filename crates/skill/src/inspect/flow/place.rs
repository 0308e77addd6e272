use std::rc::Rc;

/// A place holding a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValuePlace {
    /// A file of the machine, by its path.
    File(String),
    /// A variable of a file, or of a function in it.
    Variable(Rc<str>, String),
    /// A variable of the environment.
    Environment(String),
    /// An argument of a function, by its number or its name.
    Argument(String, String),
    /// A result of a function.
    Result(String),
    /// The output of a script or of a function of a shell.
    Output(Rc<str>),
    /// The input of a script or of a function of a shell.
    Input(Rc<str>),
    /// A value without a name.
    Value(usize),
}

/// A property of a value, which follows the value everywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FlowLabel {
    /// It is secret: the name of the variable or the path of its source.
    Secret(String),
    /// It holds an address.
    Address(String),
    /// It holds a path.
    Path(String),
    /// It was fetched from outside; the number of the fetch.
    Fetched(usize),
    /// It is encoded: base64, JSON, an archive.
    Packed,
}

/// Normalizes the path of a file.
pub(super) fn path(text: &str) -> String {
    let text = text
        .strip_prefix("$HOME")
        .map_or_else(
            || text.strip_prefix("${HOME}").map(|rest| format!("~{rest}")),
            |rest| Some(format!("~{rest}")),
        )
        .unwrap_or_else(|| text.to_owned());
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// True if a text is a path rather than a word.
pub(super) fn is_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-~$*@+".contains(c);
    let has_ending =
        text.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && (1..=5).contains(&end.len()));
    text.len() > 2
        && text.chars().all(is_plain)
        && text.chars().any(char::is_alphanumeric)
        && (text.contains('/') || text.starts_with('.') || has_ending)
}

#[cfg(test)]
mod tests {
    use super::{is_path, path};

    #[test]
    fn paths_that_mean_the_same_are_equal() {
        assert_eq!(path("$HOME/.a/../b"), "~/b");
        assert_eq!(path("./x//y.sh"), "x/y.sh");
        assert_eq!(path("/tmp/./x"), "/tmp/x");
        assert!(is_path("/tmp/x") && is_path(".env") && is_path("a.sh"));
        assert!(!is_path("word") && !is_path("two words.") && !is_path("..."));
    }
}
