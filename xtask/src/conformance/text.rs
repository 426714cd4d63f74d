//! Text of an RFC. Which section says what, and how often does each use the key words of RFC 2119?
//!
//! Sections 1.7 (changes), 2 (the conventions that define the key words) and the references of RFC 9260 state no
//! rules; a section of another RFC whose title says so is left out likewise. Page headers, footers and form feeds of
//! the printed form are not text.

use super::requirements::{Level, Section};

/// Titles of sections that state no rules.
const WITHOUT_RULES: [&str; 4] = [
    "Conventions",
    "Changes from",
    "References",
    "Requirements Language",
];

/// A section with its title and its text on one line, white space normalised.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chapter {
    pub(super) number: String,
    pub(super) title: String,
    pub(super) text: String,
}

/// The sections of an RFC's text, in order. The table of contents is indented and so is none of them.
pub(super) fn chapters(text: &str) -> Vec<Chapter> {
    let mut chapters: Vec<Chapter> = Vec::new();
    for line in text.lines().filter(|line| !is_page_break(line)) {
        if let Some((number, title)) = heading(line) {
            chapters.push(Chapter {
                number,
                title,
                text: String::new(),
            });
        } else if let Some(chapter) = chapters.last_mut() {
            append(&mut chapter.text, line.trim());
        }
    }
    chapters
}

/// The key words of each section that has some and states rules.
pub(super) fn count(text: &str) -> Vec<(String, Section)> {
    let states_rules = |chapter: &Chapter| !WITHOUT_RULES.iter().any(|title| chapter.title.contains(title));
    let counted = |chapter: Chapter| {
        let mut section = Section {
            title: chapter.title,
            ..Section::default()
        };
        for level in keywords(&chapter.text) {
            *section.keywords.entry(level.name().to_owned()).or_default() += 1;
        }
        (chapter.number, section)
    };
    chapters(text)
        .into_iter()
        .filter(states_rules)
        .map(counted)
        .filter(|(_, section)| !section.keywords.is_empty())
        .collect()
}

fn append(text: &mut String, line: &str) {
    // A word with a hyphen may be broken after it.
    if !text.is_empty() && !line.is_empty() && !text.ends_with('-') {
        text.push(' ');
    }
    text.push_str(line);
}

/// `[Page 7]` below a page, `RFC 9260   SCTP   April 2022` above one.
fn is_page_break(line: &str) -> bool {
    let line = line.trim_matches(['\u{c}', ' ']);
    let is_footer = line.ends_with(']') && line.contains("[Page ");
    let is_header = line.starts_with("RFC ")
        && line
            .rsplit_once(' ')
            .is_some_and(|(_, year)| year.len() == 4 && year.parse::<u32>().is_ok())
        && line.contains("   ");
    is_footer || is_header
}

/// `6.1.  Transmission of DATA Chunks`, at the margin; older texts have no point behind the number.
fn heading(line: &str) -> Option<(String, String)> {
    let (number, title) = line.split_once(' ')?;
    let number = number.strip_suffix('.').unwrap_or(number);
    let is_number = number
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_number.then(|| (number.to_owned(), title.trim().to_owned()))
}

/// The key words of a text, in order.
fn keywords(text: &str) -> Vec<Level> {
    let words: Vec<&str> = text
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let level = |(index, word): (usize, &&str)| {
        let negated = words.get(index + 1) == Some(&"NOT");
        match *word {
            "MUST" | "SHALL" if negated => Some(Level::MustNot),
            "MUST" | "SHALL" | "REQUIRED" => Some(Level::Must),
            "SHOULD" if negated => Some(Level::ShouldNot),
            "RECOMMENDED" if index > 0 && words[index - 1] == "NOT" => Some(Level::ShouldNot),
            "SHOULD" | "RECOMMENDED" => Some(Level::Should),
            _ => None,
        }
    };
    words.iter().enumerate().filter_map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "   1.  Rules (in the table of contents)

1.  Rules

   A sender MUST stop and SHOULD
   NOT go on. It is RECOMMENDED to rest, multi-
   homed or not.

Stewart                      Standards Track                    [Page 7]
\u{c}
RFC 9260                          SCTP                        April 2022

   It SHALL do so; it MAY not.

1.1.  Changes from RFC 1

   It MUST.
";

    #[test]
    fn key_words_are_counted_across_lines_and_pages() {
        let counted = count(TEXT);
        assert_eq!(counted.len(), 1);
        let (number, section) = &counted[0];
        assert_eq!((number.as_str(), section.title.as_str()), ("1", "Rules"));
        let expected = [("MUST", 2), ("SHOULD", 1), ("SHOULD NOT", 1)];
        assert_eq!(
            section.keywords,
            expected.map(|(level, count)| (level.to_owned(), count)).into()
        );
    }

    #[test]
    fn word_hyphenated_across_lines_is_rejoined() {
        assert!(
            chapters(TEXT)[0]
                .text
                .contains("to rest, multi-homed or not. It SHALL")
        );
    }
}
