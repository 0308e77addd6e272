use std::{path::Path, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    arguments::{
        CheckArguments, LogsArguments, MAX_WAIT, NoArguments, PlanArguments, RunsArguments, StartArguments,
        StatusArguments, VerifyArguments,
    },
    inside::{OutsidePath, inside},
    tool::McpTool,
};

/// The number of last lines of a step, if a call names none.
const TAIL: u32 = 200;

/// The command starting a run. It demands an approval given before, so it signs nothing, and waits for
/// those the run asks for. Parameters come over standard input: their values stay as they are, and are in no
/// list of processes.
const START: &[&str] = &["run", "--json", "--wait", "--require-approval", "--params=/dev/stdin"];

/// The command showing what a run would do.
const PREVIEW: &[&str] = &["run", "--json", "--dry-run", "--params=/dev/stdin"];

/// A command of `wf`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct McpCommand {
    /// The arguments.
    pub(crate) argv: Vec<String>,
    /// The parameters it reads from standard input, if it does.
    pub(crate) params: Option<Map<String, Value>>,
}

/// The work of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum McpWork {
    /// A command printing a JSON document.
    Document(McpCommand),
    /// A command printing a text.
    Text(McpCommand),
    /// A run to be started.
    Start(McpCommand),
    /// The record of a run, at the latest after a time.
    Status(McpCommand, Duration),
    /// The pending approvals of all runs.
    Pending,
}

/// The reason why a call cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallMistake {
    /// The arguments do not conform to the schema.
    #[error(
        "error: the arguments of `{tool}` are wrong: {reason}\nhint: tools/list has the schema of each tool"
    )]
    Arguments { tool: McpTool, reason: String },
    /// A path leaves the workspace.
    #[error("error: the arguments of `{tool}` are wrong: {outside_path}")]
    Path {
        tool: McpTool,
        /// The reason and the remedy.
        outside_path: OutsidePath,
    },
}

/// Returns the work of a call in the workspace below a root.
pub(crate) fn work_of(root: &Path, tool: McpTool, arguments: Value) -> Result<McpWork, CallMistake> {
    let path =
        |path: &str| inside(root, path).map_err(|reason| CallMistake::Path { tool, outside_path: reason });
    Ok(match tool {
        McpTool::List => {
            let NoArguments {} = read(tool, arguments)?;
            McpWork::Document(McpCommand::new(&["list", "--json"], []))
        }
        McpTool::Pending => {
            let NoArguments {} = read(tool, arguments)?;
            McpWork::Pending
        }
        McpTool::Check => {
            let CheckArguments { paths } = read(tool, arguments)?;
            let paths = paths.iter().map(|listed_path| path(listed_path)).collect::<Result<Vec<_>, _>>()?;
            McpWork::Document(McpCommand::new(&["check", "--json"], paths))
        }
        McpTool::Graph => {
            let PlanArguments { plan } = read(tool, arguments)?;
            McpWork::Text(McpCommand::new(&["graph"], [path(&plan)?]))
        }
        McpTool::Preview => {
            let StartArguments { plan, params } = read(tool, arguments)?;
            McpWork::Document(McpCommand::new(PREVIEW, [path(&plan)?]).with_params(params))
        }
        McpTool::Run => {
            let StartArguments { plan, params } = read(tool, arguments)?;
            McpWork::Start(McpCommand::new(START, [path(&plan)?]).with_params(params))
        }
        McpTool::Status => {
            let StatusArguments { run, wait_seconds } = read(tool, arguments)?;
            let wait = Duration::from_secs(u64::from(wait_seconds.unwrap_or(0).min(MAX_WAIT)));
            McpWork::Status(McpCommand::of_run(&["show", "--json"], run, None), wait)
        }
        McpTool::Runs => {
            let RunsArguments { plan, limit } = read(tool, arguments)?;
            let command = McpCommand::new(&["runs", "--json"], []);
            McpWork::Document(command.option("--plan", plan).option("--limit", limit))
        }
        McpTool::Logs => {
            let LogsArguments { run, step, tail } = read(tool, arguments)?;
            let tail = format!("--tail={}", tail.unwrap_or(TAIL));
            McpWork::Text(McpCommand::of_run(&["logs", &tail], run, step))
        }
        McpTool::Verify => {
            let VerifyArguments { run, step } = read(tool, arguments)?;
            let step = step.map(|step| format!("--step={step}"));
            let words: Vec<&str> = ["verify", "--json"].into_iter().chain(step.as_deref()).collect();
            McpWork::Document(McpCommand::of_run(&words, run, None))
        }
    })
}

impl McpCommand {
    /// A command, and names never read as options.
    pub(crate) fn new(words: &[&str], names: impl IntoIterator<Item = String>) -> Self {
        let mut argv: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut names = names.into_iter().peekable();
        if names.peek().is_some() {
            argv.push("--".into());
        }
        argv.extend(names);
        Self { argv, params: None }
    }

    /// A command on a run, the latest one if none is named, and perhaps on a step of it.
    pub(crate) fn of_run(words: &[&str], run: Option<String>, step: Option<String>) -> Self {
        let mut words = words.to_vec();
        if run.is_none() {
            words.push("--last");
        }
        Self::new(&words, run.into_iter().chain(step))
    }

    fn with_params(self, params: Map<String, Value>) -> Self {
        Self { params: Some(params), ..self }
    }

    fn option(mut self, name: &str, value: Option<impl ToString>) -> Self {
        self.argv.extend(value.map(|value| format!("{name}={}", value.to_string())));
        self
    }
}

fn read<T: DeserializeOwned>(tool: McpTool, arguments: Value) -> Result<T, CallMistake> {
    let mistake = |reason: String| CallMistake::Arguments { tool, reason };
    // A structure could be read from a list, too.
    if !arguments.is_object() {
        return Err(mistake("they are no object".into()));
    }
    serde_json::from_value(arguments).map_err(|error| mistake(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};
    use wf_base::keyword::Keyword as _;

    use super::{CallMistake, McpCommand, McpWork, work_of};
    use crate::tool::McpTool;

    fn argv(tool: McpTool, given: Value) -> String {
        match work_of(Path::new("/nowhere"), tool, given).unwrap() {
            McpWork::Document(McpCommand { argv, .. })
            | McpWork::Text(McpCommand { argv, .. })
            | McpWork::Start(McpCommand { argv, .. })
            | McpWork::Status(McpCommand { argv, .. }, _) => argv.join(" "),
            McpWork::Pending => "pending".into(),
        }
    }

    #[test]
    fn a_tool_is_a_command() {
        let run = json!({"run": "1a2b"});
        for (tool, given, expected) in [
            (McpTool::List, json!({}), "list --json"),
            (McpTool::Check, json!({}), "check --json"),
            (McpTool::Check, json!({"paths": ["a.md", "-b"]}), "check --json -- a.md -b"),
            (McpTool::Graph, json!({"plan": "--format=svg"}), "graph -- --format=svg"),
            (McpTool::Status, json!({}), "show --json --last"),
            (McpTool::Status, run.clone(), "show --json -- 1a2b"),
            (McpTool::Runs, json!({"plan": "x", "limit": 3}), "runs --json --plan=x --limit=3"),
            (McpTool::Logs, json!({"step": "a", "tail": 5}), "logs --tail=5 --last -- a"),
            (McpTool::Logs, run, "logs --tail=200 -- 1a2b"),
            (McpTool::Verify, json!({"step": "a"}), "verify --json --step=a --last"),
            (McpTool::Pending, json!({}), "pending"),
        ] {
            assert_eq!(argv(tool, given), expected);
        }
    }

    #[test]
    fn a_run_is_started_with_an_earlier_approval_and_its_parameters_are_no_arguments() {
        let given = json!({"plan": "p.md", "params": {"day": "1"}});
        let McpWork::Start(command) = work_of(Path::new("/nowhere"), McpTool::Run, given).unwrap() else {
            panic!("a run is started");
        };
        assert!(command.argv.contains(&"--require-approval".to_owned()), "{command:?}");
        assert!(!command.argv.iter().any(|word| word.contains("day")), "{command:?}");
        assert_eq!(command.params, json!({"day": "1"}).as_object().cloned());
    }

    #[test]
    fn wrong_arguments_are_mistakes() {
        let root = Path::new("/nowhere");
        for tool in McpTool::ALL {
            for given in
                [json!([]), json!("x"), json!({"plam": 1}), json!({"plan": 1, "run": [], "paths": ""})]
            {
                let mistake = work_of(root, *tool, given).unwrap_err();
                assert!(matches!(mistake, CallMistake::Arguments { .. }), "{mistake:?}");
            }
        }
        let outside = work_of(root, McpTool::Run, json!({"plan": "../p.md"})).unwrap_err();
        assert!(matches!(outside, CallMistake::Path { .. }), "{outside:?}");
    }
}
