//! Scripts: passed to their shell, or executed directly where a shell would add nothing.

use std::{fs::File, io::Read as _, path::Path};

use wf_model::{ShellScript, SkillCall, interpreter_named};
use wf_skill as skill;

use super::process;

/// The words a shell does not treat as the name of a program: the keywords and builtins of the shells that may be
/// called `sh`, sorted.
const SHELL_WORDS: &[&str] = &[
    ".",
    ":",
    "alias",
    "autoload",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "integer",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "nameref",
    "newgrp",
    "popd",
    "print",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "repeat",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "whence",
    "while",
];

/// Returns the words to execute for a script. `path` is the `PATH` of the script.
///
/// A script for `sh` that is one simple command of plain words is executed without the shell, which costs as much as
/// the command itself. A file the shell would execute as its own script is left to the shell.
pub fn argv(script: &ShellScript, path: Option<&str>, cwd: &Path) -> Vec<String> {
    let direct = plain_words(script).filter(|words| {
        let program_path = words.first().map(|name| process::find(name, path, cwd));
        !matches!(program_path, Some(Ok(program)) if program.is_file() && !process::starts_itself(&program))
    });
    direct.unwrap_or_else(|| {
        let mut words = script.shell.clone();
        words.push(script.text.clone());
        words
    })
}

/// Returns a skill's script with the interpreter of its first line, if that names a known one.
/// `root` is the parent of the skill's folder.
pub fn with_interpreter(call: &SkillCall, root: &Path) -> SkillCall {
    let mut call = call.clone();
    let path = root.join(call.path());
    let head = first_line(&path).and_then(|line| interpreter_named(&skill::shebang(&line)?));
    if let Some(head) = head.filter(|_| !call.head.is_empty()) {
        call.head = head.iter().map(|&word| word.to_owned()).collect();
    }
    call
}

fn first_line(path: &Path) -> Option<Vec<u8>> {
    // A pipe must not even be opened: that alone would wait for a writer.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut line = Vec::new();
    let file = File::open(path).ok()?;
    file.take(256).read_to_end(&mut line).ok()?;
    Some(line)
}

/// Returns the words of a script that is one simple command, parsed the same by every `sh`.
fn plain_words(script: &ShellScript) -> Option<Vec<String>> {
    let shell: Vec<&str> = script.shell.iter().map(String::as_str).collect();
    if !matches!(shell.as_slice(), ["sh", "-eu", "-c"] | ["sh", "-c"]) {
        return None;
    }
    let line = script.text.trim_matches([' ', '\t', '\n']);
    if !line.chars().all(|c| is_plain(c) || matches!(c, ' ' | '\t')) {
        return None;
    }
    let words: Vec<String> =
        line.split([' ', '\t']).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let name = words.first()?;
    let means_a_program = !name.contains('=') && SHELL_WORDS.binary_search(&name.as_str()).is_err();
    means_a_program.then_some(words)
}

/// True for characters without a special meaning to any shell.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ',' | ':' | '+' | '@' | '=')
}

#[cfg(test)]
mod tests {
    use super::{SHELL_WORDS, argv, plain_words};
    use std::path::Path;
    use wf_model::ShellScript;

    fn script(text: &str) -> ShellScript {
        ShellScript { shell: ["sh", "-eu", "-c"].map(String::from).into(), text: text.into() }
    }

    fn check(text: &str, words: Option<&[&str]>) {
        let expected = words.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(plain_words(&script(text)), expected, "{text:?}");
    }

    #[test]
    fn plain_commands_need_no_shell() {
        check("make", Some(&["make"]));
        check("  cargo test --lib\n", Some(&["cargo", "test", "--lib"]));
        check("dd if=a of=b bs=1,2", Some(&["dd", "if=a", "of=b", "bs=1,2"]));
        check("/bin/true", Some(&["/bin/true"]));
        check("./run.sh\ta:b c@d", Some(&["./run.sh", "a:b", "c@d"]));
    }

    #[test]
    fn everything_else_is_the_shells() {
        for text in [
            "", " \n", "a b\nc", "a; b", "a & b", "a && b", "a | b", "a > b", "a < b", "a $B", "a ${B}",
            "a `b`", "a $(b)", "a 'b'", "a \"b\"", "a \\b", "a *", "a b?", "a [b]", "a {b,c}", "~/a", "a ~",
            "A=1 b", "A=1", "# a", "a #b", "! a", "(a)", "{ a; }", "[ a ]", "[[ a ]]", "a %1", "a ^b",
            "a\rb", "a\u{a0}b", "ä", "a\0b", "a\u{b}b",
        ] {
            check(text, None);
        }
        for word in SHELL_WORDS {
            check(word, None);
            check(&format!("{word} a"), None);
        }
    }

    #[test]
    fn the_words_of_shells_are_sorted() {
        assert!(SHELL_WORDS.is_sorted());
    }

    #[test]
    fn only_the_default_shell_is_left_out() {
        for shell in [&["bash", "-euo", "pipefail", "-c"][..], &["python3", "-c"], &["sh", "-x", "-c"]] {
            let script = ShellScript {
                shell: shell.iter().map(|word| (*word).to_owned()).collect(),
                text: "make".into(),
            };
            assert_eq!(argv(&script, None, Path::new("/")).len(), shell.len() + 1);
        }
    }

    #[test]
    fn a_file_without_an_interpreter_is_the_shells() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        for (text, words) in [("echo hi\n", 4), ("#!/bin/sh\necho hi\n", 1)] {
            let file = dir.path().join("tool");
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(argv(&script("./tool"), None, dir.path()).len(), words, "{text}");
            let path = dir.path().to_str();
            assert_eq!(argv(&script("tool"), path, Path::new("/")).len(), words, "{text}");
        }
        assert_eq!(argv(&script("no_such_tool"), None, dir.path()), ["no_such_tool"]);
    }
}
