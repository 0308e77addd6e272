use wf_base::keywords;

keywords! {
    /// The severity of a finding.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum IssueClass {
        /// The skill could be written better: its approvers read it.
        Quality = "quality",
        /// The skill needs something it does not declare: the installer is asked, and the grant is
        /// written to the lock.
        Need = "need",
        /// The skill is refused: it harms, or cannot be judged.
        Danger = "danger",
    }
}

macro_rules! rules {
    ($($variant:ident $class:ident $code:literal $meaning:literal;)*) => {
        /// A rule that a skill can break. Codes are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $(#[doc = $meaning] $variant,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// Returns the severity of breaking it.
            pub fn class(self) -> IssueClass {
                match self { $(Self::$variant => IssueClass::$class,)* }
            }

            /// Returns the rule of a code.
            pub fn of(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.code() == code)
            }

            /// Returns a description of its violation, in a few words.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

rules! {
    NotLoaded Danger "not-loaded" "`SKILL.md` is missing or cannot be loaded";
    NameForm Danger "name-form" "the name has characters other than `a-z`, `0-9` and single \
                                 hyphens, and could be mistaken for another";
    DescriptionShort Quality "description-short" "the description is shorter than 20 characters";
    DescriptionLong Quality "description-long" "the description is longer than 1024 characters";
    DescriptionSteps Quality "description-steps" "the description lists the steps of the work \
        instead of what the skill does and when to use it";
    DescriptionWhen Quality "description-when" "the description does not seem to say when to use the skill";
    PathMissing Quality "path-missing" "a path in `scripts/`, `references/` or `assets/` is \
                                        referenced, but does not exist";
    PathOutside Quality "path-outside" "a file of the skill is referenced by an absolute path or \
                                        one with `..`";
    ScriptMissing Quality "script-missing" "`metadata.wf` declares a script that does not exist";
    Secret Danger "secret" "a file seems to contain a credential";
    Hidden Danger "hidden-unicode" "a file contains invisible characters";
    Injection Danger "injection" "a text contains a prompt injection marker";
    EncryptedArchive Danger "encrypted-archive" "a text gives the password of an archive: its \
        content cannot be inspected";
    FetchAndRun Danger "fetch-and-run" "a text instructs the reader to download and run a program, \
                                        or to paste downloaded content into a terminal";
    AgentMemory Danger "agent-memory" "it changes agent instruction files, which apply to every \
                                       session (`CLAUDE.md`, `AGENTS.md`, `SOUL.md`, `MEMORY.md`, \
                                       `.cursorrules`)";
    Exfiltration Danger "exfiltration" "it sends credentials, the environment or user data to \
                                        another host";
    Covert Danger "covert" "a text instructs an agent to act without the user's knowledge";
    Encoded Danger "encoded" "a command, an instruction or a URL is encoded, so that it cannot be \
                              read";
    Concealed Danger "concealed" "a text hides words: behind a long run of blanks, or by size or \
                                  colour";
    Resembling Danger "resembling" "an installed package has almost the name of a well-known one";
    Miner Danger "miner" "it mines cryptocurrency";
    AgentSettings Need "agent-settings" "it changes agent settings, which can start programs";
    RemoteText Need "remote-text" "a text instructs an agent to follow external instructions, \
                                   which can change";
    NotText Danger "not-text" "a script is not UTF-8";
    TooNested Danger "too-nested" "a script is nested too deeply to check";
    EnvUndeclared Need "env-undeclared" "a script reads an environment variable that the skill \
                                         does not declare";
    NetUndeclared Need "net-undeclared" "a script uses the network, but the skill does not declare \
                                         it";
    NetDeclared Quality "net-declared" "a script uses the network, as the skill declares";
    PipeToShell Danger "pipe-to-shell" "it executes downloaded content, or a file that anyone may \
                                        write";
    DecodeToShell Danger "decode-to-shell" "it executes decoded content directly";
    EvalInput Need "eval-input" "it executes a dynamic string as code (`eval`, `exec`, `sh -c`, \
                                 `shell=True`)";
    Unpickled Need "unpickled" "it reads data in a format that can execute code (pickle, marshal, \
                                unsafe YAML)";
    DeleteAll Danger "delete-all" "it deletes `/`, the home folder, or a path with an unset \
                                   variable";
    WorldWritable Need "world-writable" "it makes files writable for everyone (`chmod 777`)";
    Privilege Need "privilege" "it elevates privileges (`sudo`, `su`, setuid)";
    Persistence Danger "persistence" "it writes where programs are started later: shell profiles, \
                                      timers, `authorized_keys`, git hooks";
    ReverseShell Danger "reverse-shell" "it exposes a shell or a connection to another host";
    TlsOff Need "tls-off" "it disables certificate verification";
    PackageInstall Need "package-install" "it installs packages at run time";
    ArgumentRun Quality "argument-run" "it executes its arguments";
    Unread Quality "unread" "a program in a language that these rules barely cover, or an unknown \
                             one: read it yourself";
    PrivatePlace Need "private-place" "a script refers to a location with credentials, keys, \
                                       browser profiles, histories, password stores or an agent's \
                                       memory";
    Compiled Danger "compiled" "a compiled Python program without its source";
    Large Quality "large" "a file is larger than 1 MiB";
}
