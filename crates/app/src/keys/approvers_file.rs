use std::{
    fs::Permissions,
    io::{self, Write as _},
    path::Path,
};

use crate::config::load_approvers;
use wf_base::{source::SourceText, time::Moment};
use wf_sign::{
    ApproverKey,
    approval::{Approver, Approvers},
};

/// Returns the text of `approvers.yaml` with a key marked as revoked since an instant; the rest of
/// it is unchanged. `None`: the key is not there, is revoked already, or the text is written such
/// that it cannot be edited safely.
pub(super) fn with_revocation(source: &SourceText, key: &ApproverKey, since: Moment) -> Option<String> {
    let (file, _) = load_approvers(source);
    let file = file?;
    let has = |approver: &&crate::config::ApproverRecord| {
        approver.key.as_ref().is_some_and(|named| named.value.0 == *key)
    };
    let record = file.approvers.iter().find(has)?;
    if record.revoked.is_some() {
        return None;
    }
    let text = source.text();
    let end = record.key.as_ref()?.span.range().end;
    let candidates = [
        // In a mapping in braces, after the value; else on a line of its own below it.
        (end, format!(", revoked: {since}")),
        line_below_key(text, end, since)?,
    ];
    let sound = |text: &str| {
        let (after, mistakes) = load_approvers(&SourceText::new(source.path(), text));
        let expected = expected(file.clone().into(), key, since);
        mistakes.is_empty() && after.map(Approvers::from).as_ref() == Some(&expected)
    };
    candidates.into_iter().find_map(|(at, more)| {
        let mut text = text.to_owned();
        text.insert_str(at, &more);
        sound(&text).then_some(text)
    })
}

/// Returns the text of `approvers.yaml` with one more approver; the rest of it is unchanged. `None`: the text is written
/// such that it cannot be edited safely, or the name is none.
pub(super) fn with_approver(source: &SourceText, name: &str, key: &ApproverKey) -> Option<String> {
    let (file, _) = load_approvers(source);
    let file = file?;
    let text = source.text();
    let entry = format!("- {{name: {name}, key: {}}}", key.text());
    let last = file.approvers.last().and_then(|record| {
        let ends = [
            record.name.as_ref().map(|name| name.span.range().end),
            record.key.as_ref().map(|key| key.span.range().end),
        ];
        ends.into_iter().flatten().max()
    });
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let candidates = match last {
        None => vec![(text.len(), format!("{newline}approvers:\n  {entry}\n"))],
        Some(end) => entry_below(text, end, &entry),
    };
    let mut approvers = Approvers::from(file);
    approvers.keys.push(Approver { name: name.to_owned(), public: key.clone(), revoked: None });
    let sound = |text: &str| {
        let (after, mistakes) = load_approvers(&SourceText::new(source.path(), text));
        mistakes.is_empty() && after.map(Approvers::from).as_ref() == Some(&approvers)
    };
    candidates.into_iter().find_map(|(at, more)| {
        let mut text = text.to_owned();
        text.insert_str(at, &more);
        sound(&text).then_some(text)
    })
}

/// Returns the offsets at which an entry may be added below the last one, each with the text to add: after the line of
/// the entry, or after the following ones of deeper indentation.
fn entry_below(text: &str, end: usize, entry: &str) -> Vec<(usize, String)> {
    let before = text.get(..end).unwrap_or_default();
    let dash = before.rfind("- ").unwrap_or_default();
    let indent = dash - before.get(..dash).and_then(|text| text.rfind('\n')).map_or(0, |at| at + 1);
    let line_end =
        |from: usize| text.get(from..).and_then(|rest| rest.find('\n')).map_or(text.len(), |at| from + at);
    let line = format!("\n{}{entry}", " ".repeat(indent));
    let first = line_end(end);
    let second = line_end(first.saturating_add(1).min(text.len()));
    vec![(first, line.clone()), (second, line)]
}

/// Writes `approvers.yaml`, all of it or nothing.
pub(super) fn write_approvers(path: &Path, text: &str, permissions: Option<Permissions>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // As other files of the workspace: it is no secret, and is read by whoever checks signatures.
    let mode = permissions.unwrap_or_else(|| std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut file = builder.permissions(mode).tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Returns the offset of the line to add below the key, and the line.
fn line_below_key(text: &str, end: usize, since: Moment) -> Option<(usize, String)> {
    let start = text.get(..end)?.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(start..)?.lines().next()?;
    let column = line.find("key")?;
    let indent = " ".repeat(column);
    Some((start + line.len(), format!("\n{indent}revoked: {since}")))
}

/// The meaning the text must have afterwards.
fn expected(mut approvers: Approvers, key: &ApproverKey, since: Moment) -> Approvers {
    for approver in &mut approvers.keys {
        if approver.public == *key {
            approver.revoked = Some(since);
        }
    }
    approvers
}

#[cfg(test)]
mod tests {
    use super::{with_approver, with_revocation};
    use wf_base::{source::SourceText, time::Moment};
    use wf_sign::{ApproverKey, Signer};

    #[test]
    fn an_approver_is_added_below_the_others() {
        let key = ApproverKey::from(Signer::from_bytes(&[1; 32]).public());
        let (hex, other) = (key.text(), Signer::from_bytes(&[2; 32]).public().hex());
        let check = |before: &str, after: Option<&str>| {
            let source = SourceText::new("approvers.yaml", before);
            assert_eq!(with_approver(&source, "phone", &key).as_deref(), after, "{before}");
        };
        let new = format!("- {{name: phone, key: {hex}}}");
        check("policy: owner\n", Some(&format!("policy: owner\napprovers:\n  {new}\n")));
        check("policy: owner", Some(&format!("policy: owner\napprovers:\n  {new}\n")));
        let (head, tail) = ("# who\npolicy: owner\napprovers:\n", "validity: 1d # a day\n");
        for (ada, indent) in [
            (format!("  - {{name: ada, key: {other}}} # boss\n"), "  "),
            (format!("- name: ada\n  key: {other}\n"), ""),
            (format!("    - key: {other}\n      name: ada\n"), "    "),
            (format!("  - name: ada\n    key: {other}\n    revoked: 2026-11-21\n"), "  "),
        ] {
            let after = format!("{head}{ada}{indent}{new}\n{tail}");
            check(&format!("{head}{ada}{tail}"), Some(&after));
        }
        check(&format!("policy: owner\napprovers: [{{name: ada, key: {other}}}]\n"), None);
        check("policy: owner\napprovers: 3\n", None);
    }

    #[test]
    fn only_the_mark_is_added() {
        let key = ApproverKey::from(Signer::from_bytes(&[1; 32]).public());
        let (hex, other) = (key.text(), Signer::from_bytes(&[2; 32]).public().hex());
        let since = Moment::parse("2026-11-21T09:30:00Z").unwrap();
        let mark = "revoked: 2026-11-21T09:30:00.000Z";
        let check = |before: &str, after: &str| {
            let source = SourceText::new("approvers.yaml", before);
            assert_eq!(with_revocation(&source, &key, since).as_deref(), Some(after));
        };
        check(
            &format!(
                "# who\npolicy: reviewed # strict\napprovers:\n  - {{name: ada, key: {hex}}} # boss\n  - {{name: bob, key: {other}}}\n"
            ),
            &format!(
                "# who\npolicy: reviewed # strict\napprovers:\n  - {{name: ada, key: {hex}, {mark}}} # boss\n  - {{name: bob, key: {other}}}\n"
            ),
        );
        check(
            &format!("policy: owner\napprovers:\n  - key: \"{hex}\" # hers\n    name: ada\n"),
            &format!("policy: owner\napprovers:\n  - key: \"{hex}\" # hers\n    {mark}\n    name: ada\n"),
        );
        check(
            &format!("policy: owner\napprovers:\n- name: ada\n  key: {hex}"),
            &format!("policy: owner\napprovers:\n- name: ada\n  key: {hex}\n  {mark}"),
        );
        let twice = format!("policy: owner\napprovers: [{{name: ada, key: {hex}, {mark}}}]\n");
        assert_eq!(with_revocation(&SourceText::new("a", twice), &key, since), None);
        let none = format!("policy: owner\napprovers: [{{name: bob, key: {other}}}]\n");
        assert_eq!(with_revocation(&SourceText::new("a", none), &key, since), None);
    }
}
