use wf_app::config::Backend;
use wf_app::{CONFIG, CliExitCode, CommandError, Host, load};
use wf_base::diag::Severity;
use wf_base::name::Name;
use wf_lang::DiskFiles;

/// Returns a backend by its name in the `wf.yaml` of the workspace.
pub fn configured_backend(host: &Host, name: &str) -> Result<Backend, CommandError> {
    let workspace = host.workspace();
    let usage = |message: String| CommandError::new(CliExitCode::Usage, message);
    let Some((config, checked)) = load::read_config(&DiskFiles::new(&workspace.root), CONFIG) else {
        return Err(usage(format!("there is no {CONFIG} in {}", workspace.root.display()))
            .hint("run it in the workspace, or write `backends` there"));
    };
    if checked.count(Severity::Error) > 0 {
        return Err(usage(format!("{CONFIG} has errors")).hint("`wf check` shows them"));
    }
    let mut known = config.backends.iter();
    let found = known.find(|(known, _)| known.as_str() == name).map(|(_, backend)| backend.clone());
    found.ok_or_else(|| {
        let names: Vec<&str> = config.backends.keys().map(Name::as_str).collect();
        let failure = usage(format!("{CONFIG} has no backend `{name}`"));
        failure.hint(match names.as_slice() {
            [] => "add it under `backends`".to_owned(),
            names => format!("it has {}", names.join(", ")),
        })
    })
}
