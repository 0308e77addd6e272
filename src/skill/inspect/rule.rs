/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The skill could be written better: whoever approves it reads it.
    Quality,
    /// The skill needs what it does not declare: whoever installs it is asked, and what they grant
    /// stands in the lock.
    Need,
    /// The skill is refused: it harms, or cannot be judged.
    Danger,
}

impl Class {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quality => "quality",
            Self::Need => "need",
            Self::Danger => "danger",
        }
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

            /// Its code.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// How bad it is to break it.
            pub fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)* }
            }

            /// The rule of a code.
            pub fn of(code: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rule| rule.code() == code)
            }

            /// What breaks it, in a few words.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

rules! {
    NotLoaded Danger "not-loaded" "`SKILL.md` is missing, or wf cannot load it";
    NameForm Danger "name-form" "the name has other characters than `a-z`, `0-9` and single hyphens, so that it could look like another";
    DescriptionShort Quality "description-short" "the description has fewer than 20 characters";
    DescriptionLong Quality "description-long" "the description has more than 1024 characters";
    DescriptionSteps Quality "description-steps" "the description tells how the work is done, step by step, instead of what it is and when to use it";
    DescriptionWhen Quality "description-when" "the description does not seem to say when to use the skill";
    PathMissing Quality "path-missing" "a path below `scripts/`, `references/` or `assets/` is named and there is no such file";
    PathOutside Quality "path-outside" "a file of the skill is named by an absolute path or one with `..`";
    ScriptMissing Quality "script-missing" "`metadata.wf` declares a script that is not there";
    Secret Danger "secret" "a file holds what looks like a credential";
    Hidden Danger "hidden-unicode" "a file holds characters that nobody sees";
    Injection Danger "injection" "a text holds a marker of prompt injection";
    EncryptedArchive Danger "encrypted-archive" "a text names an archive and its password: what is in it cannot be inspected";
    FetchAndRun Danger "fetch-and-run" "a text tells to download a program and run it, or to paste what is fetched into a terminal";
    AgentMemory Danger "agent-memory" "it changes what agents obey in every session (`CLAUDE.md`, `AGENTS.md`, `SOUL.md`, `MEMORY.md`, `.cursorrules`)";
    Exfiltration Danger "exfiltration" "credentials, the environment or what the user said are sent away";
    Covert Danger "covert" "a text tells an agent to act without the user noticing";
    Encoded Danger "encoded" "a command, an order or an address is encoded, so that nobody reads it";
    Concealed Danger "concealed" "a text has words where nobody looks: behind very many blanks, or without size or colour";
    Resembling Danger "resembling" "a package that is installed has almost the name of a well-known one";
    Miner Danger "miner" "it computes for a pool of miners";
    AgentSettings Need "agent-settings" "it changes the settings of an agent, which start programs";
    RemoteText Need "remote-text" "a text tells an agent to follow instructions that lie elsewhere and can change";
    NotText Danger "not-text" "a script is not UTF-8";
    TooNested Danger "too-nested" "a script is nested too deeply to be checked";
    EnvUndeclared Need "env-undeclared" "a script reads a variable of the environment that the skill does not declare";
    NetUndeclared Need "net-undeclared" "a script reaches the network, and the skill does not declare that it may";
    NetDeclared Quality "net-declared" "a script reaches the network, as the skill declares";
    PipeToShell Danger "pipe-to-shell" "what is fetched, or lies where anybody may put it, is executed";
    DecodeToShell Danger "decode-to-shell" "what is decoded is executed at once";
    EvalInput Need "eval-input" "a text that is not fixed is executed as a program (`eval`, `exec`, `sh -c`, `shell=True`)";
    Unpickled Need "unpickled" "data is read in a form that can execute programs (pickle, marshal, unsafe YAML)";
    DeleteAll Danger "delete-all" "it deletes `/`, the home folder, or whatever an unset variable leaves of a path";
    WorldWritable Need "world-writable" "it lets everybody write (`chmod 777`)";
    Privilege Need "privilege" "it asks for more rights (`sudo`, `su`, setuid)";
    Persistence Danger "persistence" "it writes where programs are started later: profiles of shells, timers, `authorized_keys`, hooks of git";
    ReverseShell Danger "reverse-shell" "it gives a shell or a connection to somebody else";
    TlsOff Need "tls-off" "it does not check certificates";
    PackageInstall Need "package-install" "it installs packages while it runs";
    ArgumentRun Quality "argument-run" "it executes what it is given as arguments";
    Unread Quality "unread" "a program in a language that these rules hardly know, or in none: read it yourself";
    PrivatePlace Need "private-place" "a script names a place with credentials, keys, browser profiles, histories, password stores or an agent's memory";
    Compiled Danger "compiled" "a program of Python in compiled form whose source is not there";
    Large Quality "large" "a file is larger than 1 MiB";
}
