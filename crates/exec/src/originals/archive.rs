use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::PathBuf;

/// Packs files, by their paths, into an archive that `tar` reads.
pub(super) fn pack(files: &BTreeMap<PathBuf, Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len().try_into().map_err(io::Error::other)?);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append_data(&mut header, path, bytes.as_slice())?;
    }
    builder.into_inner()
}

/// Reads the files of an archive.
pub(super) fn unpack(bytes: &[u8]) -> io::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(bytes).entries()? {
        let mut entry = entry?;
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        files.insert(entry.path()?.into_owned(), content);
    }
    Ok(files)
}
