use super::{Notes, Scene, Site};
use crate::diag::{Code, Diagnostic};
use crate::expr::Ref;

/// A secret is read where only the work sees it: in the `env` of a step, and in the headers and
/// the body of a request.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for read in &scene.reads {
        let Ref::Secret(name) = &read.what.name else {
            continue;
        };
        let why = match read.site {
            Site::Env | Site::Request => continue,
            Site::PlanEnv => "every step would see it",
            Site::PlanEnd => "it would become part of the result",
            Site::Argument => "every process of the machine can see arguments",
            Site::Url => "addresses are written to logs",
            Site::Check => "a check sees no secrets",
            Site::When
            | Site::ForEach
            | Site::With
            | Site::File
            | Site::Cache
            | Site::Artifact
            | Site::Cwd
            | Site::Approve => "it would be recorded",
        };
        let message = format!(
            "the secret `{name}` cannot stand in {}: {why}",
            read.site.noun()
        );
        let mistake = Diagnostic::new(Code::SecretExposed, read.what.span, message);
        let help = match read.site {
            Site::Url => "send it in a header or in the body".to_owned(),
            _ => format!(
                "only the `env` of a step may hold it: `{name}: \"{{{{ secrets.{name} }}}}\"`"
            ),
        };
        notes.note(mistake.help(help));
    }
}
