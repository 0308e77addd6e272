//! Files that are by convention part of what judges the work: a warning where a step may change them, never a rule.
//!
//! No verdict depends on this list: the files kept for a check follow from its own words, from git and from the
//! declarations of steps.

use std::{ffi::OsStr, path::Path};

use NamePattern::{Around, Folder, Whole};

/// A name of files that checks usually rely on without naming them.
struct HarnessName {
    pattern: NamePattern,
    /// The reason why a check relies on such a file.
    reason: &'static str,
}

enum NamePattern {
    /// The whole name of the file.
    Whole(&'static str),
    /// The beginning of the name, and its ending.
    Around(&'static str, &'static str),
    /// The name of a folder above the file.
    Folder(&'static str),
}

const HARNESS: [HarnessName; 25] = [
    HarnessName { pattern: Around("test_", ".py"), reason: "a test that Python's runners find by its name" },
    HarnessName { pattern: Around("", "_test.py"), reason: "a test that Python's runners find by its name" },
    HarnessName { pattern: Around("", "_test.go"), reason: "a test that `go test` finds by its name" },
    HarnessName {
        pattern: Around("", ".test.js"),
        reason: "a test that JavaScript's runners find by its name",
    },
    HarnessName {
        pattern: Around("", ".test.ts"),
        reason: "a test that JavaScript's runners find by its name",
    },
    HarnessName {
        pattern: Around("", ".spec.js"),
        reason: "a test that JavaScript's runners find by its name",
    },
    HarnessName {
        pattern: Around("", ".spec.ts"),
        reason: "a test that JavaScript's runners find by its name",
    },
    HarnessName { pattern: Folder("tests"), reason: "in a folder where runners look for tests" },
    HarnessName { pattern: Folder("__tests__"), reason: "in a folder where runners look for tests" },
    HarnessName { pattern: Whole("conftest.py"), reason: "pytest loads it before the tests" },
    HarnessName { pattern: Whole("pytest.ini"), reason: "it says which tests pytest runs" },
    HarnessName { pattern: Whole("tox.ini"), reason: "it says which tests run, and how" },
    HarnessName { pattern: Whole("setup.cfg"), reason: "it says which tests run, and how" },
    HarnessName { pattern: Whole("pyproject.toml"), reason: "it says which tests run, and how" },
    HarnessName { pattern: Whole("sitecustomize.py"), reason: "Python loads it at each start" },
    HarnessName { pattern: Whole("usercustomize.py"), reason: "Python loads it at each start" },
    HarnessName {
        pattern: Whole("unittest.py"),
        reason: "Python loads it in place of the runner of this name",
    },
    HarnessName {
        pattern: Whole("pytest.py"),
        reason: "Python loads it in place of the runner of this name",
    },
    HarnessName { pattern: Whole("Makefile"), reason: "it says what `make` runs" },
    HarnessName { pattern: Whole("package.json"), reason: "it says what `npm test` runs" },
    HarnessName { pattern: Whole("package-lock.json"), reason: "it says which packages tests load" },
    HarnessName { pattern: Whole("Cargo.lock"), reason: "it says which packages tests are built with" },
    HarnessName { pattern: Whole("build.rs"), reason: "Cargo runs it before the tests are built" },
    HarnessName { pattern: Whole(".gitlab-ci.yml"), reason: "it says what CI runs" },
    HarnessName { pattern: Folder(".github"), reason: "it says what CI runs" },
];

/// Returns why a check may rely on a file, if its name says so.
pub(crate) fn reason_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name().and_then(OsStr::to_str)?;
    let is_in = |folder: &str| path.parent().is_some_and(|above| above.iter().any(|part| part == folder));
    let pattern = HARNESS.iter().find(|harness| match harness.pattern {
        Whole(whole) => name == whole,
        Around(start, end) => {
            name.len() > start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        Folder(folder) => is_in(folder),
    });
    pattern.map(|harness| harness.reason)
}

#[cfg(test)]
mod tests {
    use super::reason_of;
    use std::path::Path;

    #[test]
    fn a_harness_is_known_by_its_name() {
        for path in
            ["test_a.py", "src/a_test.go", "tests/data/x.json", "conftest.py", ".github/workflows/ci.yml"]
        {
            assert!(reason_of(Path::new(path)).is_some(), "{path}");
        }
        for path in ["calc.py", "test_.py", "attest_x.py", "tests", "src/testing.rs"] {
            assert_eq!(reason_of(Path::new(path)), None, "{path}");
        }
    }
}
