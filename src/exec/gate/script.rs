use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::ask::{Files, Site};
use super::probe::{of_script, variables};
use super::said::Said;
use crate::exec::Stop;
use crate::exec::check::{HEAD, OUTPUT, command, discreet, found, masked};
use crate::exec::environment::ParamsAlone;
use crate::exec::fixed::{self, Fixed, Glimpse};
use crate::exec::probe::{Probe, Probed};
use crate::gate::predicate::predicate;
use crate::gate::{Answer, Context};
use crate::machine::Ruling;
use crate::model::{Check, Gate, GateScript};
use crate::verify::{Found, Judgement, judge};

/// Runs the program of a gate and reads what it says; or why there is no answer.
pub(super) async fn run(
    gate: &Gate,
    script: &GateScript,
    context: &Context,
    site: &Site,
    stop: watch::Receiver<Stop>,
) -> Result<Answer, String> {
    let check = of_script(gate, script);
    let variables = variables(gate, context, &site.ground.mask)?;
    let given = Given {
        variables,
        input: None,
    };
    let probed = run_fixed(&check, "gate", given, site, stop).await?;
    answer(gate, script, &probed, site)
}

/// What a program is given besides what every check is.
pub(in crate::exec) struct Given {
    /// Further variables.
    pub(in crate::exec) variables: Vec<(String, String)>,
    /// What it can read from its standard input; `None`: nothing.
    pub(in crate::exec) input: Option<String>,
}

/// Runs the program of a check, as long as what it relies on is what it was when the run began.
/// `who` is it that it belongs to.
pub(in crate::exec) async fn run_fixed(
    check: &Check,
    who: &str,
    given: Given,
    site: &Site,
    stop: watch::Receiver<Stop>,
) -> Result<Probed, String> {
    let before = unaltered(check, who, site).await?;
    let probed = probe(check, given, site, stop).await?;
    if let (Some(fixed), Some(before)) = (&site.fixed, before) {
        let after = glimpse(fixed, check, who, site).await;
        let touched = after.map_or_else(Some, |after| before.touched(&after));
        if let Some(path) = touched {
            return Err(format!("{who} was altered while it ran: {path}"));
        }
    }
    Ok(probed)
}

async fn probe(
    check: &Check,
    given: Given,
    site: &Site,
    stop: watch::Receiver<Stop>,
) -> Result<Probed, String> {
    let ground = &site.ground;
    let scope = ParamsAlone(Some(&ground.params));
    let command = command(check, ground, &scope).map_err(|unable| unable.why)?;
    let mut command = command.ok_or("it runs nothing")?;
    command.env.extend(given.variables);
    command.input = given.input;
    let probe = Probe {
        command,
        timeout: check.timeout,
        grace: ground.grace,
        keep: HEAD,
        output: Some(OUTPUT),
    };
    Ok(ground.hands.probe(probe, stop).await)
}

/// What a program left, as an answer. An expectation that does not hold blocks whatever it printed;
/// one that could not be looked at gives no answer. Of the program and of the rule about what it
/// printed, the more severe decides.
fn answer(
    gate: &Gate,
    script: &GateScript,
    probed: &Probed,
    site: &Site,
) -> Result<Answer, String> {
    let ground = &site.ground;
    let files = Files::of(ground);
    let looked = files.look_all(&script.expect.file_exists);
    let rule = |found: &Found<'_>| judge(&script.expect, found, &[]);
    let judged = discreet(rule, &found(Some(probed), &looked), &ground.mask);
    if judged.ruling == Ruling::Error {
        return Err(judged.found);
    }
    let shown = masked(&probed.out, &ground.mask);
    let said = Said::read(&String::from_utf8_lossy(&shown));
    if judged.ruling == Ruling::Fail {
        let own = said.ok().map(|said| said.answer.reason);
        let own = own.filter(|reason| !reason.is_empty());
        return Ok(Answer::block(own.unwrap_or_else(|| told(&judged))));
    }
    if probed.truncated {
        return Err("it printed more than is kept of it".into());
    }
    let said = said?;
    let Some(then) = &script.then else {
        return Ok(said.answer);
    };
    let values = Value::Object(said.values);
    let chosen = gate.extract.as_ref().map(|path| path.select(&values));
    let chosen = chosen.and_then(|chosen| chosen.first().copied());
    let ruled = predicate(then, chosen, &files);
    Ok(stricter(said.answer, ruled))
}

/// How it is told that something else was found than was expected, with the beginning of what the
/// program printed.
fn told(judged: &Judgement) -> String {
    let mut why = format!("expected {}, found {}", judged.expected, judged.found);
    if let Some(line) = judged.evidence.lines().find(|line| !line.trim().is_empty()) {
        why += &format!(": {}", line.trim());
    }
    why
}

/// Of what a program says and what a rule says, the more severe; the program's otherwise.
fn stricter(said: Answer, ruled: Answer) -> Answer {
    if ruled.action <= said.action {
        return said;
    }
    Answer {
        action: ruled.action,
        reason: ruled.reason,
        ..said
    }
}

/// What a program relies on now, if that is what it was when the run began; `None` if nobody noted
/// what that was.
async fn unaltered(check: &Check, who: &str, site: &Site) -> Result<Option<Glimpse>, String> {
    let Some(fixed) = &site.fixed else {
        return Ok(None);
    };
    let glimpse = glimpse(fixed, check, who, site).await?;
    match fixed.alteration(check, &glimpse) {
        Some(file) => Err(format!("{who} was altered: {file}")),
        None => Ok(Some(glimpse)),
    }
}

async fn glimpse(
    fixed: &Arc<Fixed>,
    check: &Check,
    who: &str,
    site: &Site,
) -> Result<Glimpse, String> {
    let (fixed, check, ground) = (Arc::clone(fixed), check.clone(), site.ground.clone());
    let is_top = site.is_top;
    let look = move || {
        let site = fixed::Site {
            root: &ground.root,
            host: &ground.host,
            params: Some(&ground.params).filter(|_| is_top),
        };
        fixed.glimpse(&check, site).map_err(|unable| unable.why)
    };
    tokio::task::spawn_blocking(look)
        .await
        .unwrap_or_else(|_| Err(format!("the files of the {who} could not be read")))
}
