use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::facts::{Event, Facts, Send};
use super::files::read;
use super::packages::resembles;
use super::place::Label;
use super::solve::{Solved, solve};
use crate::skill::Bundle;
use crate::skill::inspect::prose::{host, is_publisher, owner};
use crate::skill::inspect::{Class, Issue, Rule};

/// What a skill does in several steps: it executes what it fetched, and sends what is secret.
/// `known` is what is found already: a line that breaks a rule is told once.
pub(in crate::skill::inspect) fn flow(bundle: &Bundle, known: &[Issue]) -> Vec<Issue> {
    let mut facts = read(bundle);
    let solved = solve(&mut facts);
    let mut issues = Vec::new();
    for run in &facts.runs {
        issues.extend(fetched(bundle, &facts, &solved, run));
    }
    let all = facts.runs.iter().map(|run| (run, false));
    for (run, is_text) in all.chain(facts.texts.iter().map(|run| (run, true))) {
        issues.extend(foreign(&facts, &solved, run, is_text));
    }
    issues.extend(facts.packages.iter().filter_map(|(event, name, is_npm)| {
        let known = resembles(name, *is_npm)?;
        let why = format!("the package `{name}` is not `{known}`, and is called almost so");
        Some(Issue::new(Rule::Resembling, &event.file, event.at, why))
    }));
    for send in &facts.sends {
        issues.extend(sent(&solved, send));
    }
    for pack in &facts.packs {
        issues.extend(gathered(&solved, pack));
    }
    issues.retain(|issue| {
        let is_it = |one: &Issue| {
            let (from, to) = (one.at.min(issue.at), one.at.max(issue.at));
            let text = bundle.text(&issue.file).unwrap_or_default();
            let is_here = (&one.file, one.rule) == (&issue.file, issue.rule);
            is_here
                && one.class >= issue.class
                && !text.get(from..to).unwrap_or("\n").contains('\n')
        };
        !known.iter().any(is_it)
    });
    // Of two findings about one command the worse one stays.
    issues.sort_by(|one, other| {
        let of = |issue: &Issue| {
            (
                issue.file.clone(),
                issue.at,
                issue.rule,
                Reverse(issue.class),
            )
        };
        of(one).cmp(&of(other))
    });
    issues.dedup_by(|one, other| {
        (one.rule, &one.file, one.at) == (other.rule, &other.file, other.at)
    });
    issues
}

/// What comes from outside and is executed.
fn fetched(bundle: &Bundle, facts: &Facts, solved: &Solved, run: &Event) -> Vec<Issue> {
    let fetches = solved.of(run.what).filter_map(|label| match label {
        Label::Fetched(number) => Some((*number, facts.fetches.get(*number)?)),
        _ => None,
    });
    let text = bundle.text(&run.file).unwrap_or_default();
    let line = text.get(..run.at).unwrap_or(text).matches('\n').count() + 1;
    let found = fetches.filter_map(|(number, fetch)| {
        let from = far(&solved.addresses(fetch.what))?;
        let (rule, class) = match from.as_slice() {
            // Whoever builds from source executes it; that is asked for.
            _ if facts.sources.contains(&number) => (Rule::PackageInstall, Class::Need),
            [] => (Rule::PipeToShell, Class::Need),
            from if from.iter().all(|one| is_publisher(one)) => (Rule::PackageInstall, Class::Need),
            _ => (Rule::PipeToShell, Class::Danger),
        };
        let why = format!(
            "what is fetched here is executed in {}, line {line}",
            run.file
        );
        let mut issue = Issue::new(rule, &fetch.file, fetch.at, why);
        issue.class = class;
        Some(issue)
    });
    found.collect()
}

/// What is executed, is no file of the skill, and lies where anybody may put it.
fn foreign(facts: &Facts, solved: &Solved, run: &Event, is_text: bool) -> Option<Issue> {
    let is_open = |path: &String| {
        let open = ["/tmp/", "/var/tmp/", "/dev/shm/"];
        let rest = open.iter().find_map(|folder| path.strip_prefix(folder));
        rest.is_some_and(|rest| is_text || rest.starts_with('.') || rest.contains("/."))
    };
    let paths = solved.paths(run.what);
    let path = paths
        .iter()
        .find(|path| is_open(path) && facts.shipped(path).is_none())?;
    let why = format!("{path} is executed: it is no file of the skill, and anybody may write it");
    Some(Issue::new(Rule::PipeToShell, &run.file, run.at, why))
}

/// The addresses that are not on this machine; `None`: all of them are.
fn far<'a>(all: &[&'a str]) -> Option<Vec<&'a str>> {
    let is_near = |address: &&&str| {
        let host = host(address).unwrap_or_default();
        host.starts_with("localhost") || host.starts_with("127.") || host.starts_with("0.0.0.0")
    };
    let far: Vec<&str> = all.iter().filter(|one| !is_near(one)).copied().collect();
    (all.is_empty() || !far.is_empty()).then_some(far)
}

/// What is secret and is sent to somebody whom it is not for.
fn sent(solved: &Solved, send: &Send) -> Option<Issue> {
    let mut to = solved.addresses(send.to);
    to.extend(solved.addresses(send.event.what));
    let far = far(&to)?;
    let hosts: Vec<String> = far.iter().filter_map(|one| host(one)).collect();
    let first = hosts.first()?;
    let is_packed = solved
        .of(send.event.what)
        .any(|label| *label == Label::Packed);
    let all: Vec<&str> = secrets(solved, &send.event);
    let (name, class) = all
        .iter()
        .filter_map(|name| {
            let class = verdict(name, &hosts, send.is_proof, is_packed)?;
            Some((*name, class))
        })
        .max_by_key(|(_, class)| *class)?;
    let why = format!("{name} goes to {first}");
    let mut issue = Issue::new(Rule::Exfiltration, &send.event.file, send.event.at, why);
    issue.class = class;
    Some(issue)
}

/// How bad it is that something secret goes to hosts, if it is.
fn verdict(name: &str, hosts: &[String], is_proof: bool, is_packed: bool) -> Option<Class> {
    let is_named = name
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_named {
        return Some(if is_proof { Class::Need } else { Class::Danger });
    }
    match owner(name) {
        None => None,
        Some(owner) if owner.owns(hosts) => None,
        Some(owner) if owner.is_known() => Some(Class::Danger),
        Some(_) if is_proof => None,
        Some(_) if is_packed => Some(Class::Danger),
        Some(_) => Some(Class::Need),
    }
}

fn secrets<'a>(solved: &'a Solved, event: &Event) -> Vec<&'a str> {
    let secrets = solved.of(event.what).filter_map(|label| match label {
        Label::Secret(name) => Some(name.as_str()),
        _ => None,
    });
    secrets.collect()
}

/// Credentials of several owners that are put together: whoever needs one of them needs no other.
fn gathered(solved: &Solved, pack: &Event) -> Option<Issue> {
    let names = secrets(solved, pack);
    let owners: BTreeSet<String> = names
        .iter()
        .filter_map(|name| Some(owner(name)?.name))
        .collect();
    (owners.len() > 1).then(|| {
        let why = format!(
            "credentials of several owners are put together: {}",
            names.join(", ")
        );
        Issue::new(Rule::Exfiltration, &pack.file, pack.at, why)
    })
}
