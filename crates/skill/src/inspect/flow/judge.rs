use std::{cmp::Reverse, collections::BTreeSet};

use super::{
    facts::{FlowFacts, ValueEvent, ValueSend},
    packages::resembles,
    place::FlowLabel,
    solve::{FlowSolution, solve},
    texts::read_flow_facts,
};
use crate::{
    SkillBundle,
    inspect::{
        InspectionIssue, IssueClass, Rule,
        prose::{host, is_publisher, owner},
    },
};

/// Finds the dangers of a skill that take several steps: executing fetched content, and sending
/// secrets. `known` are the issues found already: a line that breaks a rule is reported once.
pub(in crate::inspect) fn flow(
    bundle: &SkillBundle,
    known_issues: &[InspectionIssue],
) -> Vec<InspectionIssue> {
    let mut facts = read_flow_facts(bundle);
    let solved = solve(&mut facts);
    let mut issues = Vec::new();
    for run in &facts.run_events {
        issues.extend(fetched(bundle, &facts, &solved, run));
    }
    let runs = facts.run_events.iter().map(|run| (run, false));
    for (run, is_text) in runs.chain(facts.text_events.iter().map(|run| (run, true))) {
        issues.extend(foreign_file_issue(&facts, &solved, run, is_text));
    }
    issues.extend(facts.packages.iter().filter_map(|(event, name, is_npm)| {
        let similar = resembles(name, *is_npm)?;
        let reason = format!("the package name `{name}` is confusingly similar to `{similar}`");
        Some(InspectionIssue::new(Rule::Resembling, &event.file, event.at, reason))
    }));
    for send in &facts.sends {
        issues.extend(sent_secret_issue(&solved, send));
    }
    for pack in &facts.pack_events {
        issues.extend(gathered_secrets_issue(&solved, pack));
    }
    issues.retain(|issue| {
        let is_it = |known_issue: &InspectionIssue| {
            let (from, to) = (known_issue.at.min(issue.at), known_issue.at.max(issue.at));
            let text = bundle.text(&issue.file).unwrap_or_default();
            let is_here = (&known_issue.file, known_issue.rule) == (&issue.file, issue.rule);
            is_here && known_issue.class >= issue.class && !text.get(from..to).unwrap_or("\n").contains('\n')
        };
        !known_issues.iter().any(is_it)
    });
    // Of two findings about one command, the worse one is kept.
    issues.sort_by(|left, other| {
        let of = |issue: &InspectionIssue| (issue.file.clone(), issue.at, issue.rule, Reverse(issue.class));
        of(left).cmp(&of(other))
    });
    issues.dedup_by(|inspection_issue, other| {
        (inspection_issue.rule, &inspection_issue.file, inspection_issue.at)
            == (other.rule, &other.file, other.at)
    });
    issues
}

/// Returns the issues of fetched content that is executed.
fn fetched(
    bundle: &SkillBundle,
    facts: &FlowFacts,
    solution: &FlowSolution,
    event: &ValueEvent,
) -> Vec<InspectionIssue> {
    let fetches = solution.labels_at(event.place).filter_map(|label| match label {
        FlowLabel::Fetched(number) => Some((*number, facts.fetch_events.get(*number)?)),
        _ => None,
    });
    let text = bundle.text(&event.file).unwrap_or_default();
    let line = text.get(..event.at).unwrap_or(text).matches('\n').count() + 1;
    let fetched = fetches.filter_map(|(number, fetch)| {
        let from = remote_addresses(&solution.addresses(fetch.place))?;
        let (rule, class) = match from.as_slice() {
            // Building from source executes it; that needs a grant.
            _ if facts.sources.contains(&number) => (Rule::PackageInstall, IssueClass::Need),
            [] => (Rule::PipeToShell, IssueClass::Need),
            from if from.iter().all(|address| is_publisher(address)) => {
                (Rule::PackageInstall, IssueClass::Need)
            }
            _ => (Rule::PipeToShell, IssueClass::Danger),
        };
        let reason = format!("downloaded content is executed in {}, line {line}", event.file);
        let mut issue = InspectionIssue::new(rule, &fetch.file, fetch.at, reason);
        issue.class = class;
        Some(issue)
    });
    fetched.collect()
}

/// Returns the issue of executing a file outside the skill in a world-writable folder.
fn foreign_file_issue(
    facts: &FlowFacts,
    solution: &FlowSolution,
    event: &ValueEvent,
    is_text: bool,
) -> Option<InspectionIssue> {
    let is_open = |path: &String| {
        let open = ["/tmp/", "/var/tmp/", "/dev/shm/"];
        let rest = open.iter().find_map(|folder| path.strip_prefix(folder));
        rest.is_some_and(|rest| is_text || rest.starts_with('.') || rest.contains("/."))
    };
    let paths = solution.paths(event.place);
    let path = paths.iter().find(|path| is_open(path) && facts.shipped(path).is_none())?;
    let reason = format!("{path} is executed, but is not part of the skill, and anyone may write it");
    Some(InspectionIssue::new(Rule::PipeToShell, &event.file, event.at, reason))
}

/// Returns the addresses that are not on this machine; `None` if all of them are.
fn remote_addresses<'a>(addresses: &[&'a str]) -> Option<Vec<&'a str>> {
    let is_near = |address: &&&str| {
        let host = host(address).unwrap_or_default();
        host.starts_with("localhost") || host.starts_with("127.") || host.starts_with("0.0.0.0")
    };
    let far: Vec<&str> = addresses.iter().filter(|one| !is_near(one)).copied().collect();
    (addresses.is_empty() || !far.is_empty()).then_some(far)
}

/// Returns the issue of sending a secret to a host other than its owner's.
fn sent_secret_issue(solution: &FlowSolution, send: &ValueSend) -> Option<InspectionIssue> {
    let mut to = solution.addresses(send.destination);
    to.extend(solution.addresses(send.event.place));
    let far = remote_addresses(&to)?;
    let hosts: Vec<String> = far.iter().filter_map(|address| host(address)).collect();
    let first = hosts.first()?;
    let is_packed = solution.labels_at(send.event.place).any(|label| *label == FlowLabel::Packed);
    let secrets_sent: Vec<&str> = secrets(solution, &send.event);
    let (name, class) = secrets_sent
        .iter()
        .filter_map(|name| {
            let class = verdict(name, &hosts, send.is_proof, is_packed)?;
            Some((*name, class))
        })
        .max_by_key(|(_, class)| *class)?;
    let reason = format!("{name} is sent to {first}");
    let mut issue = InspectionIssue::new(Rule::Exfiltration, &send.event.file, send.event.at, reason);
    issue.class = class;
    Some(issue)
}

/// Returns the severity of sending a secret to hosts, if it is an issue.
fn verdict(name: &str, hosts: &[String], is_proof: bool, is_packed: bool) -> Option<IssueClass> {
    let is_named =
        name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_named {
        return Some(if is_proof { IssueClass::Need } else { IssueClass::Danger });
    }
    match owner(name) {
        None => None,
        Some(owner) if owner.owns(hosts) => None,
        Some(owner) if owner.is_known() => Some(IssueClass::Danger),
        Some(_) if is_proof => None,
        Some(_) if is_packed => Some(IssueClass::Danger),
        Some(_) => Some(IssueClass::Need),
    }
}

fn secrets<'a>(solution: &'a FlowSolution, event: &ValueEvent) -> Vec<&'a str> {
    let secrets = solution.labels_at(event.place).filter_map(|label| match label {
        FlowLabel::Secret(name) => Some(name.as_str()),
        _ => None,
    });
    secrets.collect()
}

/// Returns the issue of combining credentials of several owners: legitimate use needs only one.
fn gathered_secrets_issue(solution: &FlowSolution, event: &ValueEvent) -> Option<InspectionIssue> {
    let names = secrets(solution, event);
    let owners: BTreeSet<String> = names.iter().filter_map(|name| Some(owner(name)?.name)).collect();
    (owners.len() > 1).then(|| {
        let reason = format!("credentials of several owners are combined: {}", names.join(", "));
        InspectionIssue::new(Rule::Exfiltration, &event.file, event.at, reason)
    })
}
