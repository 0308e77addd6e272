use std::{collections::BTreeSet, sync::LazyLock};

/// The names of the most downloaded packages of `PyPI` and npm, and of legitimate packages with
/// similar names.
const NAMES: &str = include_str!("packages.txt");

static PYPI: LazyLock<BTreeSet<&str>> = LazyLock::new(|| names("[pypi]"));
static NPM: LazyLock<BTreeSet<&str>> = LazyLock::new(|| names("[npm]"));

fn names(of: &str) -> BTreeSet<&'static str> {
    let section = NAMES.split_once(of).map_or("", |(_, rest)| rest);
    let section = section.split('[').next().unwrap_or_default();
    section.split_whitespace().collect()
}

/// The minimum length of a name that is checked: short ones have many neighbours.
const SHORTEST: usize = 5;

/// Returns the well-known package with an almost identical name: one letter is missing, added or
/// different, or two are swapped.
pub(super) fn resembles(package: &str, is_npm: bool) -> Option<&'static str> {
    let name = package.split(['=', '<', '>', '[', '~', '!', ';', '@']).next()?;
    let name = name.to_ascii_lowercase();
    let name = if is_npm { name } else { name.replace('_', "-") };
    let popular = if is_npm { &NPM } else { &PYPI };
    if name.len() < SHORTEST || popular.contains(name.as_str()) {
        return None;
    }
    popular.iter().copied().find(|candidate| is_almost(&name, candidate))
}

/// True if one edit turns one word into the other.
fn is_almost(name: &str, other: &str) -> bool {
    let (left, other) = (name.as_bytes(), other.as_bytes());
    let same = left.iter().zip(other).take_while(|(a, b)| a == b).count();
    let rest = |text: &'_ [u8], skip: usize| text.get(same + skip..).unwrap_or_default().to_vec();
    if left.len() == other.len() {
        let swapped = match (left.get(same..same + 2), other.get(same..same + 2)) {
            (Some([a, b]), Some([c, d])) => a == d && b == c,
            _ => false,
        };
        return rest(left, 1) == rest(other, 1) || swapped && rest(left, 2) == rest(other, 2);
    }
    match left.len().abs_diff(other.len()) {
        1 if left.len() > other.len() => rest(left, 1) == rest(other, 0),
        1 => rest(left, 0) == rest(other, 1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::resembles;

    #[test]
    fn one_slip_of_a_finger_makes_another_package() {
        for (name, is_npm, expected) in [
            ("reqeusts", false, Some("requests")),
            ("requestss==2.0", false, Some("requests")),
            ("Nunpy", false, Some("numpy")),
            ("expres", true, Some("express")),
            ("typescirpt", true, Some("typescript")),
            ("requests", false, None),
            ("typing_extensions", false, None),
            ("pydantic[email]", false, None),
            ("psycopg2", false, None),
            ("my-own-tool", false, None),
            ("axois", false, None),
        ] {
            assert_eq!(resembles(name, is_npm), expected, "{name}");
        }
    }
}
