use super::{CheckAllow, ClassRule, Expect, Limits, Shell, foreign, sound};
use crate::diag::{Code, Diagnostic};
use crate::expr::Template;
use crate::model::Mode;
use crate::name::{EnvName, Name};
use crate::source::Spanned;
use crate::spec::decode::{Decode, Decoder, Entries, Fields, Glob, Period, RelPath, record, word};
use crate::spec::yaml::Node;

record! {
    /// One criterion: something that is run outside the worker, and what it must find.
    pub struct Check as "a check" {
        /// The name of the criterion, unique among its siblings.
        required name: Spanned<Name>,
        /// A script, given to a shell as it stands.
        optional run: Spanned<String>,
        /// A program and its arguments, without a shell.
        optional exec: Spanned<Vec<Template>>,
        /// The shell that reads the script: `sh` if absent.
        optional shell: Box<Spanned<Shell>>,
        /// What must be found; if it does not speak of the exit code, that must be 0.
        optional expect: Box<Expect>,
        /// Variables that the check sees besides `PATH`, `HOME` and the parameters.
        default env: Entries<EnvName, Template>,
        /// Where it runs, relative to the workspace.
        optional cwd: Box<Spanned<RelPath>>,
        /// The longest it may take: 60 s if absent.
        optional timeout: Spanned<Period>,
        /// Whether it has a network: `false` if absent.
        default network: bool,
        /// How much a pass says: `verifiable` if absent.
        default mode: Mode,
        /// What it may reach besides the workspace.
        optional allow: Box<CheckAllow>,
        /// How much it may use.
        optional limits: Box<Limits>,
        /// Globs of files that no step may change or add, whatever steps declare.
        default fixed: Vec<Spanned<Glob>>,
        /// What decides the class of a failure before the built-in table does; the first rule
        /// that holds.
        default classify: Vec<ClassRule>,
    }
    instead { "net" => "write `network: true`" }
    foreign foreign::CHECK;
    finish has_probe;
}

impl Decode for Mode {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let words = [
            ("verifiable", Self::Verifiable),
            ("plausible", Self::Plausible),
        ];
        word(node, &words, &[], decoder)
    }
}

/// A check runs one thing; it may run nothing only if all it looks at is files.
fn has_probe(check: &mut Check, fields: &Fields<'_, '_>, decoder: &mut Decoder<'_>) {
    sound::some_time(check.timeout.as_ref(), decoder);
    sound::own_names(&check.env, decoder);
    let argv = check.exec.as_ref().map(|exec| exec.len());
    sound::some_program(argv, fields.key("exec"), decoder);
    let at = check.name.span;
    let files_only = check
        .expect
        .as_ref()
        .is_some_and(|expect| expect.is_files_only());
    if fields.has("run") && fields.has("exec") {
        let message = format!("check `{}` has both `run` and `exec`", check.name.value);
        decoder.note(Diagnostic::new(Code::ExecutorTwice, at, message).help("keep one of them"));
    } else if !fields.has("run") && !fields.has("exec") && !files_only {
        let message = format!("check `{}` runs nothing", check.name.value);
        let help = "add `run` or `exec`, or expect nothing but `file_exists`";
        decoder.note(Diagnostic::new(Code::ExecutorMissing, at, message).help(help));
    }
}
