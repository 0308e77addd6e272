//! The calls that work makes, by which memory knows what was done: `run:PROGRAM`, `fetch:HOST`, `agent:ROLE`,
//! `skill:NAME`. What a plan or a planner calls it is a label, and no part of them.

use std::collections::BTreeSet;

use wf_model::{ModelChoice, Step, StepWork};

/// The maximum number of calls by which an approach is known.
const MOST_CALLS: usize = 16;

/// The words of a shell after which a command follows.
const PREFIXES: [&str; 13] =
    ["if", "then", "elif", "else", "while", "until", "do", "!", "time", "exec", "env", "command", "nohup"];

/// The words of a shell that are no programs of interest: they are part of it, or print and compare.
const BUILTINS: [&str; 33] = [
    ".", ":", "[", "[[", "break", "case", "cd", "continue", "done", "echo", "esac", "eval", "exit", "export",
    "false", "fi", "for", "function", "in", "local", "printf", "pwd", "read", "return", "select", "set",
    "shift", "test", "trap", "true", "umask", "unset", "wait",
];

/// The words after which names follow, and no command.
const LISTS: [&str; 4] = ["for", "case", "select", "function"];

/// The programs that do what a text says.
const INTERPRETERS: [&str; 13] =
    ["awk", "bash", "dash", "ksh", "lua", "node", "perl", "php", "python", "python3", "ruby", "sh", "zsh"];

/// Returns the calls the work of a step makes by itself: not those of a nested run or of the tools of an agent.
pub fn calls_of_work(work: &StepWork) -> BTreeSet<String> {
    match work {
        StepWork::Run(script) => calls_of_script(&script.text),
        StepWork::Exec(words) => {
            let program = words.first().filter(|word| word.refs().is_empty());
            program.map(|word| run_call(word.source())).into_iter().collect()
        }
        StepWork::Http(call) => call_of_url(call.url.source()).into_iter().collect(),
        StepWork::Agent(agent) => match &agent.model {
            ModelChoice::Model(name) | ModelChoice::Role(name) => BTreeSet::from([format!("agent:{name}")]),
        },
        StepWork::Skill(call) => BTreeSet::from([format!("skill:{}", call.skill)]),
        StepWork::Uses(_) | StepWork::Generated(_) | StepWork::Wait(_) | StepWork::Approve(_) => {
            BTreeSet::new()
        }
    }
}

/// Returns the calls of the programs a script names literally. What is in quotes, comments and texts for standard
/// input is not looked at.
pub fn calls_of_script(text: &str) -> BTreeSet<String> {
    let mut reader = ProgramReader { programs: BTreeSet::new(), begins: true, skips: false };
    let (mut word, mut quote) = (String::new(), None);
    let text = without_here_documents(text);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            // A quoted word is a name that is not literal here, or a text.
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.push(letter);
            }
            (None, '\\') => {
                if letters.next() != Some('\n') {
                    word.push('\\');
                }
            }
            (None, '#') if word.is_empty() => while letters.next_if(|next| *next != '\n').is_some() {},
            (None, '\n' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`') => {
                reader.end_word(&mut word);
                (reader.begins, reader.skips) = (true, false);
            }
            (None, '<' | '>') => {
                reader.end_word(&mut word);
                // `2>&1` and `>|` name no command.
                let _ = letters.next_if(|next| matches!(next, '&' | '|' | '>'));
                reader.skips = true;
            }
            (None, _) if letter.is_whitespace() => reader.end_word(&mut word),
            (None, _) => word.push(letter),
        }
    }
    reader.end_word(&mut word);
    reader.programs
}

/// Returns the call a request to an address is; `None` if it names no host literally.
pub fn call_of_url(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = host.rsplit('@').next().unwrap_or(host).to_lowercase();
    (!host.is_empty() && !host.contains('{')).then(|| format!("fetch:{host}"))
}

/// Returns the name of an approach by its calls; `None` if it made none.
pub fn approach_name<'a>(calls: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let calls: BTreeSet<&str> = calls.into_iter().map(String::as_str).collect();
    let named: Vec<&str> = calls.into_iter().take(MOST_CALLS).collect();
    (!named.is_empty()).then(|| named.join("+"))
}

/// Returns the name of the approach an alternative of a step is; `None` if the plan does not say what it does, since that
/// is up to a model, or to the text an interpreter gets.
pub fn approach_of(step: &Step, way: usize) -> Option<String> {
    let step = step.with_alternative(way)?;
    let is_up_to_model = matches!(step.work, StepWork::Agent(_) | StepWork::Uses(_) | StepWork::Generated(_));
    let calls = calls_of_work(&step.work);
    let has_interpreter = INTERPRETERS.iter().any(|program| calls.contains(&run_call(program)));
    if is_up_to_model || has_interpreter { None } else { approach_name(&calls) }
}

/// The words of a script, and whether a command begins.
struct ProgramReader {
    programs: BTreeSet<String>,
    /// True if the next word is a command.
    begins: bool,
    /// True if the next word is the file of a redirection.
    skips: bool,
}

impl ProgramReader {
    fn end_word(&mut self, word: &mut String) {
        let word = std::mem::take(word);
        if word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.skips) || !self.begins || PREFIXES.contains(&word.as_str()) {
            return;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| name.chars().all(is_name));
        let is_option_or_number = word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit());
        if is_assignment || is_option_or_number {
            return;
        }
        self.begins = false;
        let is_literal = |c: char| is_name(c) || matches!(c, '.' | '-' | '+' | '/');
        if !BUILTINS.contains(&word.as_str()) && word.chars().all(is_literal) {
            self.programs.insert(run_call(&word));
        }
        if LISTS.contains(&word.as_str()) {
            self.begins = false;
        }
    }
}

fn run_call(program: &str) -> String {
    format!("run:{}", program.rsplit('/').next().unwrap_or(program))
}

/// Removes the texts a script gives to the standard input of its commands.
fn without_here_documents(text: &str) -> String {
    let (mut kept, mut end): (String, Option<String>) = (String::new(), None);
    for line in text.lines() {
        if let Some(word) = &end {
            if line.trim() == word {
                end = None;
            }
            continue;
        }
        let begun = line.split_once("<<").map(|(_, rest)| rest.trim_start_matches(['-', ' ']));
        let word =
            begun.and_then(|rest| rest.split_whitespace().next()).filter(|word| !word.starts_with('<'));
        end = word.map(|word| word.trim_matches(['\'', '"', ';', ')']).to_owned());
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{approach_name, approach_of, call_of_url, calls_of_script};
    use wf_base::name::Name;
    use wf_model::{ShellScript, Step, StepWork};

    fn programs(script: &str) -> String {
        calls_of_script(script).into_iter().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_script_calls_the_programs_that_it_names() {
        assert_eq!(
            programs("wc -l texts/*.txt | grep -v total | sort -rn > out/lines.txt"),
            "run:grep run:sort run:wc"
        );
        assert_eq!(
            programs("LC_ALL=C /usr/bin/sort a && ! cmp a b 2>&1 >cat; env X=1 make"),
            "run:cmp run:make run:sort"
        );
        assert_eq!(
            programs("for one in cat dog; do head $one; done # tail it\nif test -s x; then mv x y; fi"),
            "run:head run:mv"
        );
        assert_eq!(programs("n=$(uniq a | wc -l)\n\"$TOOL\" a; $TOOL b; echo 'rm -rf /'"), "run:uniq run:wc");
        assert_eq!(
            programs("python3 - <<'END'\nimport os\nrm it\nEND\ncurl \\\n  -f x"),
            "run:curl run:python3"
        );
        assert_eq!(programs("echo good > out.txt"), "");
    }

    #[test]
    fn a_request_calls_its_host() {
        assert_eq!(
            call_of_url("https://ada@API.example:8443/v1?x=1").as_deref(),
            Some("fetch:api.example:8443")
        );
        assert_eq!(call_of_url("https://{{ params.host }}/v1"), None);
        assert_eq!(call_of_url("mirror"), None);
    }

    #[test]
    fn an_approach_is_known_by_its_calls_in_any_order() {
        let calls = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            approach_name(&calls(&["run:wc", "agent:a", "run:wc"])).as_deref(),
            Some("agent:a+run:wc")
        );
        assert_eq!(approach_name(&calls(&[])), None);
    }

    #[test]
    fn what_an_interpreter_will_do_is_not_known_by_its_name() {
        let approach = |text: &str| {
            let script = ShellScript { shell: vec!["sh".into(), "-c".into()], text: text.into() };
            approach_of(&Step::new(Name::parse("a").unwrap(), StepWork::Run(script)), 0)
        };
        assert_eq!(approach("cp a b && sort b").as_deref(), Some("run:cp+run:sort"));
        assert_eq!(approach("python3 fix.py && cp a b"), None);
        assert_eq!(approach("echo good > out.txt"), None);
    }
}
