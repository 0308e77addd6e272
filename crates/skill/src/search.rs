/// The searched texts of one skill.
#[derive(Clone, Copy, Debug)]
pub struct SearchableSkill<'a> {
    pub name: &'a str,
    pub description: &'a str,
    /// Its Markdown.
    pub body: &'a str,
}

/// Returns the skills containing all the words, best first: the indices in `among`, and the
/// scores. A word scores most in the name and least in the body, and a whole word scores more than
/// a part of one. Equal scores are in the order of the names.
pub fn search(words: &[String], skills: &[SearchableSkill<'_>]) -> Vec<(usize, u32)> {
    let words: Vec<String> = words.iter().flat_map(|word| parts(word)).collect();
    let fits = |(at, skill): (usize, &SearchableSkill<'_>)| Some((at, match_score(&words, skill)?));
    let mut ranked: Vec<(usize, u32)> = skills.iter().enumerate().filter_map(fits).collect();
    let name = |at: usize| skills.get(at).map(|skill| skill.name);
    ranked.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| name(*a).cmp(&name(*b))));
    ranked
}

fn match_score(words: &[String], skill: &SearchableSkill<'_>) -> Option<u32> {
    let fields = [(skill.name, 8, 1), (skill.description, 3, 2), (skill.body, 1, 4)];
    let fields = fields.map(|(text, weight, most)| (parts(text), weight, most));
    if words.is_empty() {
        return None;
    }
    words.iter().try_fold(0, |sum, word| {
        let of_field = |(own, weight, most): &(Vec<String>, u32, usize)| {
            let whole = own.iter().filter(|part| *part == word).take(*most).count();
            let has_part = whole == 0 && own.iter().any(|part| part.contains(word.as_str()));
            weight * (2 * u32::try_from(whole).unwrap_or(0) + u32::from(has_part))
        };
        let own: u32 = fields.iter().map(of_field).sum();
        (own > 0).then_some(sum + own)
    })
}

/// Returns the words of a text in lower case.
fn parts(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::{SearchableSkill, search};

    const AMONG: [SearchableSkill<'static>; 3] = [
        SearchableSkill { name: "pdf-forms", description: "Fills forms.", body: "Uses a tool." },
        SearchableSkill { name: "docs", description: "Reads PDF and Word files.", body: "pdf pdf" },
        SearchableSkill { name: "coding", description: "Runs tests.", body: "See the pdfium docs." },
    ];

    fn check(words: &str, expected: &[&str]) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let found = search(&words, &AMONG);
        let names: Vec<&str> = found.iter().map(|(at, _)| AMONG[*at].name).collect();
        assert_eq!(names, expected, "{words:?}");
    }

    #[test]
    fn all_words_must_fit_and_the_name_counts_most() {
        check("PDF", &["pdf-forms", "docs", "coding"]);
        check("pdf files", &["docs"]);
        check("docs", &["docs", "coding"]);
        check("tests pdf", &["coding"]);
        check("nothing", &[]);
        check("", &[]);
        check("--", &[]);
    }
}
