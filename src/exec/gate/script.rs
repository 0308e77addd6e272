use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::ask::{Files, Site};
use super::probe::{of_script, variables};
use super::said::Said;
use crate::exec::check::{Ground, HEAD, OUTPUT, command, discreet, found, masked};
use crate::exec::environment::ParamsAlone;
use crate::exec::probe::{Probe, Probed};
use crate::exec::view::Looking;
use crate::exec::{Stop, Unable};
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
    let probed = run_viewed(&check, "gate", given, site, stop).await?;
    answer(gate, script, &probed, site)
}

/// What a program is given besides what every check is.
pub(in crate::exec) struct Given {
    /// Further variables.
    pub(in crate::exec) variables: Vec<(String, String)>,
    /// What it can read from its standard input; `None`: nothing.
    pub(in crate::exec) input: Option<String>,
}

/// Runs the program of a check, on the workspace as it was when the run began and what is declared.
/// `who` is it that it belongs to.
pub(in crate::exec) async fn run_viewed(
    check: &Check,
    who: &str,
    given: Given,
    site: &Site,
    stop: watch::Receiver<Stop>,
) -> Result<Probed, String> {
    let Some(view) = site.view.clone() else {
        return probe(check, given, &site.ground, stop).await;
    };
    let params = &site.ground.params;
    let looking = Looking::new((view, Arc::default()), check, params, None);
    let told = |unable: Unable| format!("the {who} does not count: {}", unable.why);
    let (sight, ground) = looking.look(&site.ground).await.map_err(told)?;
    let probed = probe(check, given, &ground, stop).await?;
    looking.recheck(sight).await.map_err(told)?;
    Ok(probed)
}

async fn probe(
    check: &Check,
    given: Given,
    ground: &Ground,
    stop: watch::Receiver<Stop>,
) -> Result<Probed, String> {
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
