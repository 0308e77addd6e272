//! The programs that send and fetch over the network: requests, copies to other machines, clones.

use super::{
    facts::ValuePlaceIx, operands::CommandOperands, place::FlowLabel, programs::ProgramCall,
    shell::ShellFactReader,
};
use crate::inspect::tables::WordList;

/// Options of transfer programs with the content to send; some of them may name a file.
const CONTENT: &str = "-d --data --data-raw --data-binary --data-urlencode --data-ascii -F --form --form-string \
    -T --upload-file --json --post-data --post-file --body-file";
const CONTENT_FILES: &str = "-T --upload-file --post-file --body-file";

/// Options that authenticate the request.
const PROOF: &str = "-H --header -u --user --oauth2-bearer -b";

/// Options naming the destination of the response.
const DESTINATION: &str = "-o --output --output-document -OutFile";

/// Other options with a value.
const OTHER: &str = "-X --request -A --user-agent -m --max-time --retry -w -e -P";

/// Extensions that files have and hosts do not.
static OF_FILES: WordList = WordList::from_table(include_str!("../tables/words/file_endings.txt"));

/// Handles `curl`, `wget` and similar programs.
pub(super) fn transfer(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let operands = &call.operands;
    let is_wget = call.program.name == "wget";
    let destination = if is_wget { [DESTINATION, "-O"].join(" ") } else { DESTINATION.to_owned() };
    let mut addresses = operands.plain(&[CONTENT, PROOF, OTHER, &destination].join(" "));
    addresses.extend(call.reads_names.then_some(call.input));
    let to = reader.facts.gathered(&addresses);
    hosts(reader, operands, to);
    let data = reader.facts.gathered(&operands.option_places(CONTENT));
    for (text, value) in operands.option_values(CONTENT) {
        if text.contains(['@', '<']) || operands.has_option(CONTENT_FILES) {
            reader.facts.loads.push((value, data));
        }
        if text.ends_with("@-") || text == "-" || text == "." {
            reader.facts.moves(call.input, data);
        }
    }
    reader.facts.moves(to, data);
    reader.sends(call.program.at, data, to, false);
    let proof = reader.facts.gathered(&operands.option_places(PROOF));
    reader.sends(call.program.at, proof, to, true);
    reader.fetches(call.program.at, to, call.out);
    let paths = operands.option_places(&destination);
    reader.facts.stores.extend(paths.iter().map(|path| (*path, call.out)));
    let keeps_name = operands.has_option("-O --remote-name -J");
    if is_wget && paths.is_empty() || keeps_name && !is_wget {
        keep_name(reader, call);
    }
}

/// Handles a file stored under its remote name.
fn keep_name(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let operands = &call.operands;
    let folder = operands.option_values("-P --directory-prefix --output-dir");
    let folder = folder.first().map(|(folder, _)| (*folder).to_owned());
    let folder = folder.or_else(|| reader.folder.clone());
    let folder = folder.map_or(String::new(), |folder| format!("{folder}/"));
    for text in reader.rendered_paths(operands.words) {
        let bare = text.split(['?', '#']).next().unwrap_or_default();
        let name = bare.rsplit('/').next().unwrap_or_default();
        if name.len() > 1 {
            let file = reader.facts.file(&format!("{folder}{name}"));
            reader.facts.moves(call.out, file);
        }
    }
}

/// Records the hosts named without a scheme.
pub(super) fn hosts(reader: &mut ShellFactReader<'_, '_>, operands: &CommandOperands<'_>, to: ValuePlaceIx) {
    for word in operands.words {
        if let Some(host) = host(&reader.rendered(word)) {
            let address = FlowLabel::Address(format!("http://{host}/"));
            reader.facts.labels.push((address, to));
        }
    }
}

/// Handles programs that copy files to other machines.
pub(super) fn remote_copy(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let (program, operands) = (&call.program, &call.operands);
    // The key used for authentication is not sent.
    let keys = operands.option_places("-i -e -F -o");
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for (word, value) in operands.words.iter().zip(&operands.values) {
        let text = reader.rendered(word);
        let is_key = keys.contains(value);
        if let Some((host, _)) = text.split_once(':').filter(|_| !is_key) {
            let host = host.rsplit('@').next().unwrap_or_default();
            far.push((format!("http://{host}/"), *value));
        } else if !is_key {
            near.push(*value);
        }
    }
    let places: Vec<ValuePlaceIx> = far.iter().map(|(_, value)| *value).collect();
    let to = reader.facts.gathered(&places);
    for (address, _) in far {
        reader.facts.labels.push((FlowLabel::Address(address), to));
    }
    let is_upload = operands.texts().last().is_some_and(|last| last.contains(':'));
    if program.name == "ssh" {
        hosts(reader, operands, to);
        reader.sends(program.at, call.input, to, false);
    } else if is_upload {
        let content = reader.loaded(&near);
        reader.sends(program.at, content, to, false);
    }
}

/// Handles a clone: a folder with third-party content.
pub(super) fn clone_repository(reader: &mut ShellFactReader<'_, '_>, call: &ProgramCall<'_>) {
    let plain = call.operands.plain("-b --branch --depth -C");
    let [_, from, into @ ..] = plain.as_slice() else {
        return;
    };
    let got = reader.facts.value();
    reader.facts.sources.insert(reader.facts.fetch_events.len());
    reader.fetches(call.program.at, *from, got);
    if let Some(into) = into.first() {
        reader.facts.stores.push((*into, got));
        return;
    }
    for text in reader.rendered_paths(call.program.args) {
        let name = text.rsplit('/').next().unwrap_or_default();
        let folder = name.strip_suffix(".git").unwrap_or(name);
        let folder = reader.facts.file(folder);
        reader.facts.moves(got, folder);
    }
}

/// Returns the host a word without a scheme names; the part before its first dot may be known
/// only at run time.
fn host(text: &str) -> Option<&str> {
    let bare = text.split(['/', ':']).next()?;
    let bare = bare.rsplit('@').next()?;
    let bare = match bare.rfind(['$', '*']) {
        Some(unknown) => bare.get(unknown..)?.split_once('.')?.1,
        None => bare,
    };
    let is_part = |part: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty() && part.bytes().all(is_letter)
    };
    let (_, end) = bare.rsplit_once('.')?;
    let is_host = !text.contains("://") && !bare.starts_with('-') && bare.split('.').all(is_part);
    (is_host && !OF_FILES.contains(end)).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn a_host_is_told_from_a_file() {
        assert_eq!(host("log.helper.dev"), Some("log.helper.dev"));
        assert_eq!(host("$DATA.log.helper.dev"), Some("log.helper.dev"));
        assert_eq!(host("ada@log.helper.dev:4000"), Some("log.helper.dev"));
        for text in ["out.json", "-x.y", "https://a.b", "word", "/tmp/a.b"] {
            assert_eq!(host(text), None, "{text}");
        }
    }
}
