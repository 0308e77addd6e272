/// Quotes a word for a shell, to which brackets, and characters in the keys of items, are special.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_shell_takes_a_place_as_it_is() {
        for (place, typed) in [
            ("all/build", "all/build"),
            ("", "''"),
            ("build[linux,3.12]", "'build[linux,3.12]'"),
            ("greet[it's]", r"'greet[it'\''s]'"),
            ("cost[$5]", "'cost[$5]'"),
        ] {
            assert_eq!(shell_word(place), typed);
        }
    }
}
