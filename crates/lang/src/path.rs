/// Returns the path that `used` means in the file `from`; both relative to the workspace. `None` if
/// it lies outside the workspace or names nothing.
pub(super) fn join(from: &str, used: &str) -> Option<String> {
    if used.starts_with('/') {
        return None;
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(used.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn paths_stay_inside() {
        for (from, used, path) in [
            ("plan.md", "other.md", Some("other.md")),
            ("a/b/plan.md", "other.md", Some("a/b/other.md")),
            ("a/b/plan.md", "../other.md", Some("a/other.md")),
            ("a/b/plan.md", "./c//./other.md", Some("a/b/c/other.md")),
            ("a/plan.md", "../../other.md", None),
            ("plan.md", "/etc/passwd", None),
            ("plan.md", "", None),
            ("a/plan.md", "..", None),
        ] {
            assert_eq!(join(from, used).as_deref(), path, "{from} {used}");
        }
    }
}
