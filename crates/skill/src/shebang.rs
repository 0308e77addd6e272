/// Returns the program on the first line of a script, without its folder: `bash` for
/// `#!/usr/bin/env -S bash -e`.
pub fn shebang(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = line.get(..line.len().min(256))?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let first = words.next()?;
    if first != "env" {
        return Some(first.to_owned());
    }
    let mut named = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    named.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::shebang;

    #[test]
    fn the_first_line_names_a_program() {
        for (text, expected) in [
            ("#!/bin/sh\n", Some("sh")),
            ("#! /usr/bin/env bash\necho\n", Some("bash")),
            ("#!/usr/bin/env -S LANG=C python3 -I\r\n", Some("python3")),
            ("#!zsh", Some("zsh")),
            ("#!\n/bin/sh\n", None),
            ("echo\n#!/bin/sh\n", None),
            ("#!/usr/bin/env\n", None),
        ] {
            assert_eq!(shebang(text.as_bytes()).as_deref(), expected, "{text:?}");
        }
    }
}
