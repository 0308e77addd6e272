//! The caches of interpreters and build tools: no product of a step, unless it names them.
//!
//! A cache is made anew from the files it caches, so a check does as well without it. One a step left could hold
//! another program than its source, and no check would notice.

use std::path::Path;

/// A kind of cache: the folder, or the file, that it is.
enum CacheName {
    /// A folder of this path, at any depth.
    Folder(&'static str),
    /// Files with this ending.
    Ending(&'static str),
}

/// The known caches, each with the programs writing it.
const CACHES: [CacheName; 4] = [
    // Python, which loads it in place of the source.
    CacheName::Folder("__pycache__"),
    // Python, beside the source.
    CacheName::Ending(".pyc"),
    // Bundlers and transpilers of JavaScript.
    CacheName::Folder("node_modules/.cache"),
    // Cargo and Maven: results of compilers.
    CacheName::Folder("target"),
];

/// True if a path is that of a cache, or in one, that no declaration names. `declared` is the text of the declaration
/// covering the path: a glob, or a folder.
pub(super) fn is_unnamed_cache(path: &Path, declared: &str) -> bool {
    // `**/report.json` names a file, wherever that is.
    let is_file = !declared.is_empty() && path.file_name() == Path::new(declared).file_name();
    !is_file
        && CACHES.iter().any(|cache| match cache {
            CacheName::Folder(folder) => has_folder(path, folder) && !declared.contains(folder),
            CacheName::Ending(ending) => {
                path.to_str().is_some_and(|path| path.ends_with(ending)) && !declared.contains(ending)
            }
        })
}

pub(crate) fn is_cache(path: &Path) -> bool {
    is_unnamed_cache(path, "")
}

/// True if the parts of a folder's path stand in a path, one after the other.
fn has_folder(path: &Path, folder: &str) -> bool {
    let parts: Vec<_> = path.iter().collect();
    let folder_parts: Vec<_> = Path::new(folder).iter().collect();
    parts.windows(folder_parts.len()).any(|part| *part == *folder_parts)
}

#[cfg(test)]
mod tests {
    use super::is_unnamed_cache;
    use std::path::Path;

    #[test]
    fn a_cache_is_no_product_unless_it_is_named() {
        for (path, declared, expected) in [
            ("src/__pycache__/a.cpython-311.pyc", "src", true),
            ("src/__pycache__", "src/**", true),
            ("a.pyc", "*", true),
            ("a.pyc", "*.pyc", false),
            ("web/node_modules/.cache/x", "web", true),
            ("web/node_modules/left/x", "web", false),
            ("crates/a/target/debug/a", "crates", true),
            ("target/debug/a", "target/**", false),
            ("target/out/report.json", "**/report.json", false),
            ("targets/a", "**", false),
            ("src/a.py", "src", false),
        ] {
            assert_eq!(is_unnamed_cache(Path::new(path), declared), expected, "{path} by {declared}");
        }
    }
}
