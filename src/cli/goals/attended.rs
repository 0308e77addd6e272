use super::{Hold, LEADER, all_with_waits};
use crate::cli::Ui;
use crate::cli::health::{Finding, Health};
use crate::report::plural;
use crate::store::Reader;

/// Whether the goals of a workspace can be read, and whether a daemon keeps them; nothing is said
/// where there are none.
pub fn attended(ui: &Ui) -> Vec<Finding> {
    let workspace = ui.workspace();
    let found = all_with_waits(ui, &workspace);
    let broken = found.iter().filter_map(|one| {
        let why = one.goal.as_ref().err()?;
        let told = format!("{} is not looked at: {why}", one.path);
        Some(Finding::new("goal", Health::Weak, told))
    });
    let mut findings: Vec<Finding> = broken.collect();
    let count = found.len() - findings.len();
    findings.extend(found.iter().filter_map(|one| {
        let told = format!("{} {}", one.path, one.waits.as_ref()?);
        Some(Finding::new("goal", Health::Weak, told))
    }));
    let held = Hold::is_held(&workspace.state, LEADER);
    if found.is_empty() && !held {
        return findings;
    }
    let goals = plural(count, "goal");
    let leader = Reader::open(&workspace.state).and_then(|reader| reader.leader());
    findings.push(match leader {
        Ok(Some((_, pid, since))) if held => {
            let since = since.to_second();
            let told = format!("process {pid} leads since {since} · {goals} in these files");
            Finding::new("daemon", Health::Good, told)
        }
        _ => {
            let told = "none leads: goals begin by themselves only under `wf daemon`".to_owned();
            Finding::new("daemon", Health::Weak, told)
        }
    });
    findings
}
