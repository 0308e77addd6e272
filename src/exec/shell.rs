//! Scripts: given to their shell, or executed directly where a shell would add nothing.

use std::path::Path;

use crate::model::Script;

/// The words to execute for a script. `path` is the `PATH` that the script will see.
pub fn argv(_script: &Script, _path: Option<&str>, _cwd: &Path) -> Vec<String> {
    todo!()
}
