//! `wf doctor --upgrade`: the changes of this program to a state of an earlier version.

use crate::Ui;
use wf_app::{CliExitCode, CommandError, doctor::has_leader, relative_path, upgrade::UpgradeOutlook};
use wf_base::{
    program,
    time::format_duration,
    units::{plural, size},
};
use wf_core::machine::LOGIC_VERSION;

/// Prints the changes at an opening of the state; nothing is changed.
pub fn print_outlook(ui: &Ui) -> Result<CliExitCode, CommandError> {
    let version = program::version();
    let state = ui.host.workspace().state;
    let Some(upgrade) = UpgradeOutlook::read(&ui.host)? else {
        ui.print_line(&format!(
            "nothing to upgrade: there is no state of an earlier version than wf {version}"
        ))?;
        return Ok(CliExitCode::Ok);
    };
    let shown = relative_path(&state, ui.host.cwd());
    for line in described(&upgrade, &shown, &relative_path(&upgrade.copy, ui.host.cwd())) {
        ui.print_line(&line)?;
    }
    if has_leader(&ui.host) {
        ui.print_line(
            "  daemon       one works on this state: restart it with this program right after the upgrade",
        )?;
    }
    Ok(if upgrade.has_room { CliExitCode::Ok } else { CliExitCode::State })
}

fn described(upgrade: &UpgradeOutlook, state: &str, copy: &str) -> Vec<String> {
    let UpgradeOutlook { from, to, .. } = upgrade;
    let writer = upgrade.program.as_ref().map(|program| format!(" of wf {program}"));
    let free = upgrade.free.map_or_else(|| "unknown space".into(), size);
    let room = if upgrade.has_room { "" } else { ": too little, nothing would be changed" };
    let mut lines = vec![
        format!(
            "{state} has schema {from}{}; the next command of wf {} that opens it brings it to {to}",
            writer.unwrap_or_default(),
            program::version()
        ),
        format!("  copy before  {copy} · {} · {free} free{room}", size(upgrade.copy_size)),
        format!("  duration     at most {} on a slow disk", format_duration(upgrade.duration)),
        format!("  the way back wf restore --force {copy}, with the earlier program"),
    ];
    if upgrade.exceeding_runs > 0 {
        let count = plural(upgrade.exceeding_runs, "run");
        lines.push(format!(
            "  retention    {count} beyond it: pruned, with a summary kept, once the copy is 30 days old or `retention` is written in \
             wf.yaml; `retention: {{}}` keeps them"
        ));
    }
    let others = &upgrade.runs_of_other_rules;
    lines.push(match (upgrade.open_runs, others.len()) {
        (0, _) => "  runs         all have ended".into(),
        (count, 0) => {
            format!("  runs         {} not ended, by the same rules: they go on", plural(count, "run"))
        }
        (_, count) => format!("  runs         {} started under other rules:", plural(count, "run")),
    });
    lines.extend(others.iter().map(|(run, version)| {
        let id = run.short();
        format!(
            "               {id} · rules {version}, not {LOGIC_VERSION}: end it with the earlier program, or cancel it there"
        )
    }));
    lines
}
