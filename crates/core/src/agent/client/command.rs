/// The command of a program working as an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The environment.
    pub env: Vec<(String, String)>,
    /// The text on its standard input, which ends after it.
    pub input: String,
}

impl ClientCommand {
    /// Appends arguments.
    pub(super) fn add_words(&mut self, words: &[&str]) {
        self.argv.extend(words.iter().map(|word| (*word).to_owned()));
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }
}
