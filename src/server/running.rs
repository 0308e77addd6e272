//! The acts of a server: a plan is started, a run resumed or cancelled; and a run that is followed until it ends.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::looking::run_of;
use crate::{
    Ui,
    commands::running::{cancel::CancelArgs, resume::ResumeArgs, retry::RetryArgs, run::RunArgs},
    params,
};
use wf_app::{
    Caller as _, CliExitCode, CommandError,
    approve::SigningOptions,
    server::{FollowEnd, FollowedLine, ServerClient, ServerPlan, follow_run, path_part, sign_start},
    usage_error,
};
use wf_base::name::RunId;
use wf_core::{machine::RunOutcome, observe::RunObserver as _};
use wf_report::follow::{PlainPrinter, ResumeOptions, RunTracker, Verbosity};

/// The run that an act was about, or has started.
#[derive(Deserialize)]
struct ActedRun {
    run: RunId,
}

/// The way in which a run is followed.
#[derive(Clone, Copy)]
struct FollowOptions {
    /// Its events are printed as lines of JSON.
    json: bool,
    /// It is followed while it waits for people, too.
    wait: bool,
}

/// Starts a plan at the server, and follows its run.
pub(super) fn run(ui: &Ui, client: &ServerClient, args: &RunArgs) -> Result<CliExitCode, CommandError> {
    let name = args.plan.to_str().ok_or_else(|| usage_error("the name of the plan is no text"))?;
    let plan = ServerPlan::read(client, name)?;
    let values = params::resolve_some(ui, &plan.params()?, &args.params)?;
    // Sent again after a lost connection, it starts no other run.
    let random = ui.host.random(&format!("start of {name} at {}", ui.host.now()))?;
    let key = wf_sign::hex(&random);
    let mut start = json!({"params": values, "digest": plan.digest});
    if let Some(reason) = &plan.signature_reason {
        ui.print_info_line(reason);
        let signing: SigningOptions = args.approval.demand().signing;
        start["token"] = sign_start(ui, client, &plan, &key, &start, &signing)?.into();
    }
    let path = format!("/plans/{}/runs", path_part(&plan.name));
    let send = || client.post::<ActedRun>(&path, Some(&key), &start);
    let started = match send() {
        Err(error) if error.exit == CliExitCode::State => send(),
        other => other,
    };
    let options = FollowOptions { json: args.output.json, wait: args.output.wait };
    follow(ui, client, &started?.run, &plan.path, options)
}

/// Starts a run that repeats what did not succeed, and follows it.
pub(super) fn retry(ui: &Ui, client: &ServerClient, args: &RetryArgs) -> Result<CliExitCode, CommandError> {
    let run = run_of(client, &args.run)?;
    let started: ActedRun = client.post(&format!("/runs/{run}/retry"), None, &json!({}))?;
    let options = FollowOptions { json: args.output.json, wait: args.output.wait };
    let document: Value = client.document(&format!("/runs/{}", started.run))?;
    follow(ui, client, &started.run, document["path"].as_str().unwrap_or_default(), options)
}

pub(super) fn resume(ui: &Ui, client: &ServerClient, args: &ResumeArgs) -> Result<CliExitCode, CommandError> {
    let run = run_of(client, &args.run)?;
    let resumed: ActedRun = client.post(&format!("/runs/{run}/resume"), None, &json!({}))?;
    ui.print_info_line(&format!("run {} goes on at {}", resumed.run.short(), client.origin()));
    Ok(CliExitCode::Ok)
}

pub(super) fn cancel(ui: &Ui, client: &ServerClient, args: &CancelArgs) -> Result<CliExitCode, CommandError> {
    let run = run_of(client, &args.run)?;
    let cancelled: ActedRun = client.post(&format!("/runs/{run}/cancel"), None, &json!({}))?;
    ui.print_info_line(&format!("run {}: its server was asked to cancel it", cancelled.run.short()));
    Ok(CliExitCode::Ok)
}

/// Prints a run as one that is executed here, until it ends or waits for people.
fn follow(
    ui: &Ui,
    client: &ServerClient,
    run: &RunId,
    path: &str,
    options: FollowOptions,
) -> Result<CliExitCode, CommandError> {
    let short = run.short();
    let (origin, server) = (client.origin(), client.options());
    if ui.verbosity > Verbosity::Quiet && !options.json {
        ui.print_info_line(&format!(
            "it runs at {origin}; Ctrl-C leaves it running: wf {server} cancel {short}"
        ));
    }
    let tracker = RunTracker::for_run(ResumeOptions::at_server(path, server), Duration::ZERO);
    let mut printer = PlainPrinter::new(ui.out(), ui.verbosity, tracker);
    let mut show = |line: FollowedLine<'_>| {
        if options.json {
            return ui.print_json(&format!("{}\n", line.text));
        }
        if let Some(followed) = &line.event {
            printer.event(&followed.run_ref(), &followed.event);
        }
        Ok(())
    };
    match follow_run(client, run, options.wait, &mut show)? {
        FollowEnd::Ended(RunOutcome::Succeeded) => Ok(CliExitCode::Ok),
        FollowEnd::Ended(RunOutcome::Cancelled) => Ok(CliExitCode::Interrupted),
        FollowEnd::Ended(RunOutcome::Failed | RunOutcome::Abandoned) => Ok(CliExitCode::RunFailed),
        FollowEnd::Waiting => {
            ui.message_line(&format!("run {short} waits for people: wf {server} inbox"));
            Ok(CliExitCode::Waiting)
        }
    }
}
