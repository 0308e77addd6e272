use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::hold::Hold;
use crate::cli::approve::{accepted, programs_accepted};
use crate::cli::load::{self, Ready};
use crate::cli::{Exit, Failure, Ui};
use crate::exec::Hands;
use crate::exec::http::Client;
use crate::exec::secret::{Hidden, Secrets};
use crate::goal::Part;
use crate::mask::Mask;
use crate::name::EnvName;
use crate::report::{WARN, paint};
use crate::service::notify::{self, Channel, Command, Notice, Secret, Webhook};
use crate::spec::Disk;
use crate::store::{Durability, NoticeRow, Reader, Store, StoreError};
use crate::time::Moment;

/// How long is waited after a try that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// How often it is begun anew to tell people something, each time with several tries.
const ROUNDS: u32 = 5;

/// The file of who tells people.
const TELLER: &str = "tell.lock";

/// Tells people what they are still to be told. What cannot be told is said, and tried again when
/// something is told the next time, not for ever.
pub fn tell(ui: &Ui) -> Result<(), Failure> {
    let workspace = ui.workspace();
    let reader = match Reader::open(&workspace.state) {
        Ok(reader) => reader,
        Err(StoreError::NoState(_)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if reader.notices()?.is_empty() {
        return Ok(());
    }
    // Two that tell the same would tell it twice.
    let _turn = Hold::wait(&workspace.state, TELLER)?;
    let open = reader.notices()?;
    let store = Store::open(&workspace.state, Durability::Full, ui.env.clock())?;
    for row in open {
        let message = row.body.get("message").cloned().unwrap_or_default();
        let ready = ready(ui, &reader, &message);
        let told = match ready.and_then(|ready| may_tell(ui, &ready, &message).map(|()| ready)) {
            Ok(ready) => one(ui, &ready, &row, &message),
            Err(failure) => Err(failure.message),
        };
        if let Err(why) = &told {
            let (warning, goal) = (paint(WARN, "warning:"), &row.goal);
            ui.say_line(&format!(
                "{warning} nobody could be told about {goal}: {why}"
            ));
        }
        let last = row.tries + 1 >= ROUNDS;
        let noted = store.told(row.id, told.err(), last, ui.env.now());
        noted.wait()?;
    }
    Ok(())
}

/// The goal as it was when the cycle was run that is told of; without one, as it is.
fn ready(ui: &Ui, reader: &Reader, message: &Value) -> Result<Ready, Failure> {
    let run = message.get("runs").and_then(|runs| runs.get(0));
    if let Some(run) = run.and_then(Value::as_str) {
        let run = crate::name::RunId::from_stored(run);
        return load::snapshot_as(ui, reader, &run, Some(Part::Look));
    }
    let workspace = ui.workspace();
    let path = message.get("path").and_then(Value::as_str);
    let files = Disk::new(&workspace.root);
    let place = (workspace.clone(), path.unwrap_or_default());
    Ok(load::goal(ui, &files, place, Part::Look)?.0)
}

/// Refuses to execute what a goal names to tell people if nobody has seen that as it is. A run was
/// let begin as its texts were then: what is left to be another are the programs.
fn may_tell(ui: &Ui, ready: &Ready, message: &Value) -> Result<(), Failure> {
    let of_run = message.get("runs").and_then(|runs| runs.get(0)).is_some();
    let seen = if of_run {
        programs_accepted(ui, ready)?
    } else {
        accepted(ui, ready)?
    };
    let Err(refusal) = seen else { return Ok(()) };
    let message = format!("{} may tell nobody: {refusal}", ready.path);
    Err(Failure::new(Exit::Approval, message))
}

fn one(ui: &Ui, ready: &Ready, row: &NoticeRow, message: &Value) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let channel = channel(ui, ready, row.body.get("by").unwrap_or(&Value::Null)).await?;
        let client = Client::new(&ui.env.host());
        let wait = |tries: u32| PAUSE * 4u32.pow(tries.saturating_sub(1).min(3));
        let notice = notice(row, message);
        let clock = ui.env.clock();
        let told = notify::tell(&notice, &channel, &client, &*clock, wait).await;
        told.map(drop).map_err(|untold| untold.to_string())
    })
}

fn notice(row: &NoticeRow, message: &Value) -> Notice {
    let text = |key: &str| message.get(key).and_then(Value::as_str).map(str::to_owned);
    let moment = |key: &str| text(key).and_then(|text| Moment::parse(&text).ok());
    let transition = text("news").unwrap_or_default();
    let why = text("why").unwrap_or_default();
    let name = text("title").unwrap_or_else(|| row.goal.to_string());
    let summary = if why.is_empty() {
        format!("{name} is {transition}")
    } else {
        format!("{name} is {transition}: {why}")
    };
    let runs = message.get("runs").and_then(Value::as_array);
    let runs = runs.into_iter().flatten().filter_map(Value::as_str);
    Notice {
        id: Notice::id_of(row.goal.as_str(), &transition, row.at),
        goal: row.goal.to_string(),
        transition,
        slot: moment("slot"),
        at: row.at,
        summary,
        runs: runs.map(str::to_owned).collect(),
        url: None,
    }
}

/// How somebody is told, with the secrets of the goal.
async fn channel(ui: &Ui, ready: &Ready, by: &Value) -> Result<Channel, String> {
    let declared = ready.plan.parts().secrets.clone();
    let host = Arc::new(ui.env.host());
    let root = ready.workspace.root.clone();
    let places = (root.clone(), ready.workspace.state.clone());
    let secrets = Secrets::new(declared, Arc::clone(&host), places, Hands::Own);
    if let Some(argv) = by.get("exec").and_then(Value::as_array) {
        let argv = argv.iter().filter_map(Value::as_str).map(str::to_owned);
        let known = secrets.known().await;
        let mut names: Vec<String> = PASSED.map(str::to_owned).to_vec();
        names.extend(ready.config.env_pass.iter().cloned());
        return Ok(Channel::Command(Command {
            argv: argv.collect(),
            cwd: root,
            env: notify::passed(&host, &names),
            mask: Arc::new(Mask::new(known.iter().map(Hidden::expose))),
        }));
    }
    let hook = by.get("webhook").unwrap_or(&Value::Null);
    let secret = |name: &Value| {
        let name = name.as_str().and_then(|name| EnvName::parse(name).ok());
        let secrets = &secrets;
        async move {
            match name {
                None => Ok(None),
                Some(name) => match secrets.get(&name).await {
                    Ok(value) => Ok(Some(value)),
                    Err(bad) => Err(bad.to_string()),
                },
            }
        }
    };
    let url = hook.get("url").unwrap_or(&Value::Null);
    let url = match url.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => match secret(url.get("secret").unwrap_or(&Value::Null)).await? {
            Some(value) => value.expose().to_owned(),
            None => return Err("the address of the webhook is not known".into()),
        },
    };
    let key = secret(hook.get("secret").unwrap_or(&Value::Null)).await?;
    let key = key.map(|key| Secret::parse(key.expose())).transpose();
    let secret = key.map_err(|bad| bad.to_string())?;
    Ok(Channel::Webhook(Webhook { url, secret }))
}

/// What a command sees of the environment, besides what the configuration passes on.
const PASSED: [&str; 3] = ["PATH", "HOME", "LANG"];
