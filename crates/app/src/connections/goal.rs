use std::time::Duration;

use crate::{CliExitCode, CommandError, Workspace};
use wf_base::{name::PlanId, time::format_duration};

/// The interval of health checks where the skill defines none.
const DEFAULT_CHECK_INTERVAL: Duration = Duration::from_mins(30);

/// Writes the goal for scheduled checks of a connection's health; returns its path. An existing
/// one stays: the user may have changed it.
pub fn write_health_goal(
    workspace: &Workspace,
    name: &PlanId,
    every: Option<Duration>,
) -> Result<Option<String>, CommandError> {
    let path = format!("goals/connection-{name}.md");
    let file = workspace.root.join(&path);
    let unable = |error: std::io::Error| {
        CommandError::new(CliExitCode::State, format!("cannot write {path}: {error}"))
    };
    std::fs::create_dir_all(workspace.root.join("goals")).map_err(unable)?;
    let mut options = std::fs::File::options();
    match options.write(true).create_new(true).open(&file) {
        Ok(mut opened) => {
            let text = goal_text(name, every.unwrap_or(DEFAULT_CHECK_INTERVAL));
            std::io::Write::write_all(&mut opened, text.as_bytes()).map_err(unable)?;
            Ok(Some(path))
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(unable(error)),
    }
}

/// Returns the cron expression closest to a period, and the period of that.
fn closest_cron(every: Duration) -> (String, Duration) {
    let minutes = (every.as_secs() / 60).max(1);
    let hour = |hours: u64| Duration::from_secs(hours * 3600);
    if minutes < 60 {
        let steps = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30];
        let step = steps.into_iter().rev().find(|step| *step <= minutes);
        let step = step.unwrap_or(1);
        return (format!("*/{step} * * * *"), Duration::from_secs(step * 60));
    }
    let steps = [1, 2, 3, 4, 6, 8, 12];
    let step = steps.into_iter().rev().find(|step| *step <= minutes / 60);
    match (minutes / 60, step) {
        (24.., _) => ("0 6 * * *".into(), hour(24)),
        (_, Some(1) | None) => ("0 * * * *".into(), hour(1)),
        (_, Some(step)) => (format!("0 */{step} * * *"), hour(step)),
    }
}

/// A check has no secrets and does not see the state, so it cannot test the connection itself: a
/// step does, which leaves a stamp behind, and the check verifies that the stamp is recent.
fn goal_text(name: &PlanId, every: Duration) -> String {
    let (cron, period) = closest_cron(every);
    let stamp = format!("connections/{name}.json");
    let young = (period.as_secs() / 60).max(1);
    let every = format_duration(period);
    format!(
        "---\n\
         kind: goal\n\
         id: connection-{name}\n\
         title: The connection {name} works\n\
         schedule: \"{cron}\"\n\
         missed: {{run: latest, window: {every}}}\n\
         overlap: skip\n\
         on_failure: spawn_plan\n\
         # It checks, and refreshes tokens; it changes nothing else.\n\
         approval: none\n\
         timeout: 10m\n\
         verify:\n\
         \x20 - name: it_worked_lately\n\
         \x20   run: find {stamp} -mmin -{young}\n\
         \x20   expect: {{not_empty: true}}\n\
         repair:\n\
         \x20 steps:\n\
         \x20   - {{id: look, title: Check the connection, idempotent: true}}\n\
         ---\n\
         # The connection {name}\n\
         \n\
         Checks the connection every {every}. A check that passes writes a stamp file;\n\
         one that fails removes it, and the goal fails.\n\
         \n\
         ## look\n\
         \n\
         ```sh\n\
         wf connection check {name} --stamp {stamp}\n\
         ```\n"
    )
}

#[cfg(test)]
mod tests {
    use super::closest_cron;
    use std::time::Duration;

    #[test]
    fn a_period_becomes_an_expression_that_is_no_less_often() {
        for (minutes, expected, period) in [
            (1, "*/1 * * * *", 1),
            (7, "*/6 * * * *", 6),
            (30, "*/30 * * * *", 30),
            (59, "*/30 * * * *", 30),
            (60, "0 * * * *", 60),
            (300, "0 */4 * * *", 240),
            (1440, "0 6 * * *", 1440),
            (9999, "0 6 * * *", 1440),
        ] {
            let (cron, every) = closest_cron(Duration::from_secs(minutes * 60));
            assert_eq!(cron, expected);
            assert_eq!(every, Duration::from_secs(period * 60));
        }
    }
}
