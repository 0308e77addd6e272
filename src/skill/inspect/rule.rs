/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Whoever approves the skill sees it.
    Warning,
    /// The skill is not installed.
    Error,
}

impl Severity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! rules {
    ($($variant:ident $severity:ident $code:literal $meaning:literal;)*) => {
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
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What breaks it, in a few words.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

rules! {
    NotLoaded Error "not-loaded" "`SKILL.md` is missing, or wf cannot load it";
    NameForm Error "name-form" "the name has other characters than `a-z`, `0-9` and single hyphens, so that it could look like another";
    DescriptionShort Error "description-short" "the description has fewer than 20 characters";
    DescriptionLong Error "description-long" "the description has more than 1024 characters";
    DescriptionSteps Error "description-steps" "the description tells how the work is done, step by step, instead of what it is and when to use it";
    DescriptionWhen Warning "description-when" "the description does not seem to say when to use the skill";
    PathMissing Error "path-missing" "a path below `scripts/`, `references/` or `assets/` is named and there is no such file";
    PathOutside Error "path-outside" "a file of the skill is named by an absolute path or one with `..`";
    ScriptMissing Error "script-missing" "`metadata.wf` declares a script that is not there";
    Secret Error "secret" "a file holds what looks like a credential";
    Hidden Error "hidden-unicode" "a file holds characters that nobody sees";
    Injection Warning "injection" "a text holds a marker of prompt injection";
    NotText Error "not-text" "a script is not UTF-8";
    TooNested Error "too-nested" "a script is nested too deeply to be checked";
    EnvUndeclared Error "env-undeclared" "a script reads a variable of the environment that the skill does not declare";
    NetUndeclared Error "net-undeclared" "a script reaches the network, and the skill does not declare that it may";
    NetDeclared Warning "net-declared" "a script reaches the network, as the skill declares";
    PipeToShell Error "pipe-to-shell" "what is fetched is executed at once";
    DecodeToShell Error "decode-to-shell" "what is decoded is executed at once";
    EvalInput Error "eval-input" "a text that is not fixed is executed as a program (`eval`, `exec`, `sh -c`, `shell=True`)";
    Unpickled Error "unpickled" "data is read in a form that can execute programs (pickle, marshal, unsafe YAML)";
    DeleteAll Error "delete-all" "it deletes `/`, the home folder, or whatever an unset variable leaves of a path";
    WorldWritable Error "world-writable" "it lets everybody write (`chmod 777`)";
    Privilege Error "privilege" "it asks for more rights (`sudo`, `su`, setuid)";
    Persistence Error "persistence" "it writes where programs are started later: profiles of shells, timers, `authorized_keys`, hooks of git";
    ReverseShell Error "reverse-shell" "it gives a shell or a connection to somebody else";
    TlsOff Error "tls-off" "it does not check certificates";
    PackageInstall Error "package-install" "it installs packages while it runs";
    ArgumentRun Warning "argument-run" "it executes what it is given as arguments";
    Unread Warning "unread" "a program in a language that these rules hardly know, or in none: read it yourself";
    Large Warning "large" "a file is larger than 1 MiB";
}
