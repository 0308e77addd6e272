use wf_app::config::load_approvers;
use wf_base::source::SourceText;
use wf_base::time::Moment;
use wf_sign::PublicKey;
use wf_sign::approval::Approvers;

/// Returns the text of `approvers.yaml` with a key marked as revoked since an instant; the rest of
/// it is unchanged. `None`: the key is not there, is revoked already, or the text is written such
/// that it cannot be edited safely.
pub(super) fn with_revocation(source: &SourceText, key: &PublicKey, since: Moment) -> Option<String> {
    let (file, _) = load_approvers(source);
    let file = file?;
    let has =
        |one: &&wf_app::config::ApproverRecord| one.key.as_ref().is_some_and(|named| named.value.0 == *key);
    let one = file.approvers.iter().find(has)?;
    if one.revoked.is_some() {
        return None;
    }
    let text = source.text();
    let end = one.key.as_ref()?.span.range().end;
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

/// Returns the offset of the line to add below the key, and the line.
fn line_below_key(text: &str, end: usize, since: Moment) -> Option<(usize, String)> {
    let start = text.get(..end)?.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(start..)?.lines().next()?;
    let column = line.find("key")?;
    let indent = " ".repeat(column);
    Some((start + line.len(), format!("\n{indent}revoked: {since}")))
}

/// The meaning that the text must have afterwards.
fn expected(mut approvers: Approvers, key: &PublicKey, since: Moment) -> Approvers {
    for one in &mut approvers.keys {
        if one.public == *key {
            one.revoked = Some(since);
        }
    }
    approvers
}

#[cfg(test)]
mod tests {
    use super::with_revocation;
    use wf_base::source::SourceText;
    use wf_base::time::Moment;
    use wf_sign::Signer;

    #[test]
    fn only_the_mark_is_added() {
        let key = Signer::from_bytes(&[1; 32]).public();
        let (hex, other) = (key.hex(), Signer::from_bytes(&[2; 32]).public().hex());
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
