//! The programs that pack files into archives and extract them.

use super::{facts::ValuePlaceIx, programs::ProgramCall, shell::ShellFactReader};

/// Extensions of archives; without them, their names are often those of folders.
const ENDINGS: [&str; 6] = [".tar.gz", ".tgz", ".zip", ".tar.xz", ".tar.bz2", ".gz"];

/// Options naming the folder to extract into.
const FOLDER: &str = "-C -d --directory";

/// Handles `tar`: its first word may be letters without a hyphen.
pub(super) fn tape(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let operands = &call.operands;
    let is_letters = |text: &&str| {
        let letters = text.trim_start_matches('-');
        text.starts_with('-') && !text.starts_with("--")
            || letters.len() <= 5 && letters.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let first = operands.texts().next().filter(is_letters);
    let first = first.unwrap_or_default();
    let extracts = first.contains('x') || operands.has_option("--extract");
    let skipped = usize::from(!first.is_empty() && !first.starts_with('-'));
    packs_files(reader, call, skipped, extracts);
}

/// Handles `zip` and `unzip`.
pub(super) fn archive(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    packs_files(reader, call, 0, call.program.name != "zip");
}

/// Handles an archive, which is the first argument, and the files packed or extracted.
fn packs_files(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>, skipped: usize, extracts: bool) {
    let operands = &call.operands;
    let mut plain = operands.plain(FOLDER).into_iter().skip(skipped);
    let Some(archive) = plain.next() else { return };
    if extracts {
        let content = reader.loaded(&[archive]);
        reader.facts.stores.extend(operands.option_places(FOLDER).into_iter().map(|into| (into, content)));
        for word in operands.words {
            let name = reader.rendered(word);
            if let Some(stem) = ENDINGS.iter().find_map(|end| name.strip_suffix(end)) {
                let into = reader.facts.file(stem);
                reader.facts.moves(content, into);
            }
        }
        return;
    }
    let files: Vec<ValuePlaceIx> = plain.collect();
    let content = reader.loaded(&files);
    reader.packs(call.program.at, content);
    reader.facts.stores.push((archive, content));
    reader.facts.moves(content, call.out);
}
