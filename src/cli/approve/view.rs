use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::before::text_of;
use super::bounds::line;
use super::plan::Proposal;
use super::refused::shown as difference;
use crate::approval::{Policy, Refusal, Statement, Token, differences};
use crate::cli::load::{self, Ready};
use crate::digest::Digest;
use crate::report::consent::{Consent, House, consent};
use crate::report::diff::diff;
use crate::report::{BOLD, GOOD, paint, plural};
use crate::spec::Memory;
use crate::untrusted::untrusted;

/// Everything that a plan will do.
pub(super) fn meaning(proposal: &Proposal) -> String {
    let ready = &proposal.ready;
    let files: Vec<(String, Digest)> = proposal
        .pins
        .iter()
        .map(|pin| (pin.path.clone(), pin.digest))
        .collect();
    let mut text = consent(
        &ready.plan,
        &ready.path,
        &files,
        &proposal.bounds.given,
        ready.goal.as_ref().map(|of| &*of.goal),
    );
    text.push_str(&Consent::default().within(&house(ready)).text());
    text
}

/// Everything that is about to be approved.
pub(super) fn shown(proposal: &Proposal, statement: &Statement) -> String {
    let ready = &proposal.ready;
    let mut text = meaning(proposal);
    let _ = writeln!(text, "\n{}", paint(BOLD, "the approval"));
    for (name, bound) in &statement.params {
        text.push_str(&line(name, bound));
    }
    let noun = if ready.goal.is_some() {
        "repair"
    } else {
        "run"
    };
    let runs = plural(statement.executions as usize, noun);
    let _ = writeln!(text, "  for {runs}, until {}", statement.expires);
    text
}

fn house(ready: &Ready) -> House<'_> {
    House {
        confined: ready.config.sandbox.on,
        read: &ready.config.sandbox.read,
        pass: &ready.config.env_pass,
    }
}

/// What is different from what was approved last: in meaning, and in the files that are executed.
pub(super) fn changes(proposal: &Proposal, last: &Result<Token, Refusal>) -> String {
    let Ok(last) = last else {
        return String::new();
    };
    let ready = &proposal.ready;
    let different = differences(&last.statement().files, &proposal.pins);
    let issued = last.statement().issued;
    let mut text = format!(
        "\n{}\n",
        paint(BOLD, &format!("since the approval of {issued}"))
    );
    if different.is_empty() {
        text.push_str("  nothing was changed\n");
        return text;
    }
    let before: BTreeMap<String, Vec<u8>> = last
        .statement()
        .files
        .iter()
        .filter(|pin| is_text(ready, &pin.path))
        .filter_map(|pin| {
            let known = text_of(&ready.workspace, &pin.path, pin.digest)?;
            Some((pin.path.clone(), known.into_bytes()))
        })
        .collect();
    if let Some((plan, goal)) = load::quietly_with(&Memory(before), &ready.path, ready.begun) {
        let goals = (goal.as_deref(), ready.goal.as_ref().map(|of| &*of.goal));
        let old = Consent::of(&plan, &ready.path).of_any(goals.0);
        let new = Consent::of(&ready.plan, &ready.path).of_any(goals.1);
        text.push_str(&diff(&old, &new).text());
    }
    text.push_str(&difference(&ready.workspace, &different));
    text
}

/// Whether a plan may be made of a file: of each of these it is asked how it was before.
fn is_text(ready: &Ready, path: &str) -> bool {
    let mut sources = ready.sources.iter();
    let is_of_gates = path.starts_with("gates/");
    is_of_gates || sources.any(|(source, _)| source == path)
}

/// What is said of an approval that was signed.
pub(super) fn signed(proposal: &Proposal, token: &Token, out: &str) -> String {
    let approvers = &proposal.rules.approvers;
    let named: Vec<String> = token
        .signers()
        .flatten()
        .filter_map(|id| approvers.find(id).map(|one| one.name.clone()))
        .collect();
    let mut text = format!(
        "{} {} by {} until {}: {}\n",
        paint(GOOD, "approved"),
        untrusted(&proposal.ready.path),
        named.join(", "),
        token.statement().expires,
        untrusted(out)
    );
    let missing = (approvers.required as usize).saturating_sub(named.len());
    if approvers.policy == Policy::Reviewed && missing > 0 {
        let more = plural(missing, "more approver");
        let _ = writeln!(
            text,
            "{more} must sign it: wf approve {}",
            untrusted(&proposal.ready.path)
        );
    }
    text
}
