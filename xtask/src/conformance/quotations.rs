//! Quotations from standards. Are they listed, and are they the very words?
//!
//! Quotation marks in a paragraph that cites an RFC promise the RFC's own words. `docs/conformance/quotations.toml`
//! lists each with its RFC and section; the texts themselves are not in the repository. Titles and words that are
//! quoted from elsewhere are listed there as `[[other]]`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::text::chapters;
use crate::finding::{Failure, Finding, Outcome};
use crate::sources::Source;

const LIST: &str = "docs/conformance/quotations.toml";

/// Shorter ones are words that are talked about, not sentences.
const MIN_WORDS: usize = 3;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    quotation: Vec<Quotation>,
    #[serde(default)]
    other: Vec<Other>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quotation {
    rfc: u32,
    /// Empty for an RFC without numbered sections.
    #[serde(default)]
    section: String,
    text: String,
}

/// Quoted in a paragraph that cites an RFC, but not from it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    text: String,
    source: String,
}

/// A quotation of the code or the docs, with the paragraph around it.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    at: String,
    paragraph: String,
    text: String,
}

/// Finds quotations beside an RFC's number that are not listed, and listed ones that nobody quotes.
///
/// # Errors
/// When the list or a page cannot be read.
pub(super) fn check(root: &Path, sources: &[Source]) -> Outcome {
    let list = read(root)?;
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| !source.path.starts_with("xtask/")) {
        found.extend(quotations(&source.path, &comments(&source.text)));
    }
    for page in pages(root)? {
        let path = page
            .strip_prefix(root)
            .unwrap_or(&page)
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&page).map_err(|error| Failure(format!("{path}: {error}")))?;
        found.extend(quotations(&path, &paragraphs(text.lines())));
    }
    println!("conformance: {} quotations", found.len());
    Ok(hold(&list, &found))
}

/// Compares the list with the texts `rfcNNNN.txt` of a folder.
///
/// # Errors
/// When the list cannot be read.
pub(super) fn verify(root: &Path, texts: &Path) -> Outcome {
    let list = read(root)?;
    let mut findings = Vec::new();
    let mut skipped = BTreeSet::new();
    for quotation in &list.quotation {
        let Ok(text) = fs::read_to_string(texts.join(format!("rfc{}.txt", quotation.rfc))) else {
            skipped.insert(quotation.rfc);
            continue;
        };
        findings.extend(inexact(quotation, &text).map(|what| Finding {
            at: LIST.to_owned(),
            what,
        }));
    }
    println!(
        "quotations: {} compared, no text of RFCs {skipped:?}",
        list.quotation.len()
    );
    Ok(findings)
}

fn read(root: &Path) -> Result<List, Failure> {
    let text = fs::read_to_string(root.join(LIST)).map_err(|error| Failure(format!("{LIST}: {error}")))?;
    toml::from_str(&text).map_err(|error| Failure(format!("{LIST}: {error}")))
}

/// Every Markdown page of ours except the ones that are made.
fn pages(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/adr", "experiments", "bench", "fuzz", "interop"] {
        let folder = root.join(folder);
        let unreadable = |error: std::io::Error| Failure(format!("{}: {error}", folder.display()));
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with(super::PAGE) {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

fn hold(list: &List, found: &[Found]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in found {
        let is_listed = list.quotation.iter().any(|quotation| quotation.is_in(one))
            || list
                .other
                .iter()
                .any(|other| trimmed(&other.text) == trimmed(&one.text));
        if !is_listed {
            let what = format!(
                "{LIST} has no \"{}\" of an RFC and section that are named beside it",
                one.text
            );
            findings.push(Finding {
                at: one.at.clone(),
                what,
            });
        }
    }
    let quoted = |text: &str| found.iter().any(|one| trimmed(&one.text) == trimmed(text));
    let quotations = list.quotation.iter().map(|quotation| &quotation.text);
    let others = list.other.iter().map(|other| &other.text);
    for text in quotations.chain(others).filter(|text| !quoted(text)) {
        findings.push(Finding {
            at: LIST.to_owned(),
            what: format!("nobody quotes \"{text}\" beside an RFC's number any more"),
        });
    }
    let unsourced = list.other.iter().filter(|other| other.source.trim().is_empty());
    findings.extend(unsourced.map(|other| Finding {
        at: LIST.to_owned(),
        what: format!("whose words are \"{}\"? Name the `source`", other.text),
    }));
    findings
}

impl Quotation {
    fn is_in(&self, found: &Found) -> bool {
        let names_section =
            self.section.is_empty() || found.paragraph.contains(&format!("§{}", self.section));
        let names_rfc = found.paragraph.contains(&format!("RFC {}", self.rfc));
        trimmed(&self.text) == trimmed(&found.text) && names_rfc && names_section
    }
}

/// What is wrong with a quotation, held against the text of its RFC. Its parts around `[…]` follow each other.
fn inexact(quotation: &Quotation, text: &str) -> Option<String> {
    let chapters = chapters(text);
    let chapter = chapters
        .iter()
        .find(|chapter| chapter.number == quotation.section);
    // The oldest texts indent their headings, or have none.
    let has_headings = chapters.iter().any(|chapter| chapter.number.contains('.'));
    let text = match chapter {
        Some(chapter) => chapter.text.clone(),
        None if has_headings && !quotation.section.is_empty() => {
            return Some(format!("RFC {} has no §{}", quotation.rfc, quotation.section));
        }
        None => text.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let mut rest = text.as_str();
    for part in quotation
        .text
        .split("[…]")
        .flat_map(|part| part.split("[...]"))
        .map(trimmed)
        .filter(|part| !part.is_empty())
    {
        let Some(at) = rest.find(part) else {
            return Some(format!(
                "RFC {} §{} does not say \"{part}\"",
                quotation.rfc, quotation.section
            ));
        };
        rest = &rest[at + part.len()..];
    }
    None
}

/// Without the punctuation that ends the sentence around it.
fn trimmed(text: &str) -> &str {
    text.trim().trim_end_matches(['.', ',', ';', ':'])
}

/// The paragraphs of a Rust file's comments, with the line that each begins at.
fn comments(text: &str) -> Vec<(usize, String)> {
    paragraphs(text.lines().map(|line| {
        let line = line.trim_start();
        let comment = ["///", "//!", "//"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        comment.filter(|text| !text.starts_with("= ")).unwrap_or_default()
    }))
}

/// Lines that belong together, without blocks of code.
fn paragraphs<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    let mut in_code = false;
    for (index, line) in lines.map(str::trim).enumerate() {
        if line.starts_with("```") {
            in_code = !in_code;
        }
        if line.is_empty() || line.starts_with("```") || in_code {
            open = false;
            continue;
        }
        let begins_item = ["- ", "* ", "| ", "#"].iter().any(|mark| line.starts_with(mark));
        if open
            && !begins_item
            && let Some((_, text)) = paragraphs.last_mut()
        {
            text.push(' ');
            text.push_str(line);
        } else {
            paragraphs.push((index + 1, line.to_owned()));
        }
        open = true;
    }
    paragraphs
}

/// The quoted sentences of the paragraphs that cite an RFC.
fn quotations(path: &str, paragraphs: &[(usize, String)]) -> Vec<Found> {
    let cites = |text: &str| {
        text.match_indices("RFC ")
            .any(|(at, mark)| text[at + mark.len()..].starts_with(|next: char| next.is_ascii_digit()))
    };
    let mut found = Vec::new();
    for (line, paragraph) in paragraphs.iter().filter(|(_, paragraph)| cites(paragraph)) {
        let prose = without_code(paragraph);
        for text in prose.split(['"', '“', '”']).skip(1).step_by(2) {
            if text.split_whitespace().count() >= MIN_WORDS {
                found.push(Found {
                    at: format!("{path}:{line}"),
                    paragraph: paragraph.clone(),
                    text: text.trim().to_owned(),
                });
            }
        }
    }
    found
}

/// Code between backticks that has quotation marks of its own is dropped.
fn without_code(paragraph: &str) -> String {
    let mut prose = String::new();
    for (index, part) in paragraph.split('`').enumerate() {
        if index % 2 == 0 || !part.contains('"') {
            prose.push_str(part);
        }
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! A file.
/// Sends as RFC 9260 §6.1 asks: \"the sender
/// MUST send\". Not code: `x = \"a b c\"`.
fn send() {}

// Nobody \"cites a standard\" in this paragraph.
";

    fn quotation(section: &str, text: &str) -> Quotation {
        Quotation {
            rfc: 9260,
            section: section.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn quotations_beside_an_rfc_are_found_across_lines() {
        let found = quotations("a.rs", &comments(CODE));
        let texts: Vec<(&str, &str)> = found
            .iter()
            .map(|one| (one.at.as_str(), one.text.as_str()))
            .collect();
        assert_eq!(texts, [("a.rs:1", "the sender MUST send")]);
    }

    #[test]
    fn unlisted_and_unused_quotations_are_found() {
        let found = quotations("a.rs", &comments(CODE));
        let count = |quotation| {
            let list = List {
                quotation,
                other: Vec::new(),
            };
            hold(&list, &found).len()
        };
        assert_eq!(count(vec![quotation("6.1", "the sender MUST send.")]), 0);
        assert_eq!(count(vec![]), 1);
        assert_eq!(count(vec![quotation("6.2", "the sender MUST send")]), 1);
        assert_eq!(
            count(vec![
                quotation("6.1", "the sender MUST send"),
                quotation("6.1", "never")
            ]),
            1
        );
    }

    #[test]
    fn altered_words_are_found_and_left_out_ones_marked() {
        let text = "6.1.  Sending\n\n   The sender, if it can,\n   MUST send multi-\n   homed.\n\n6.2.  Other\n\n   Rest.\n";
        let is_exact = |section, words| inexact(&quotation(section, words), text).is_none();
        assert!(is_exact("6.1", "The sender, if it can, MUST send multi-homed."));
        assert!(is_exact("6.1", "The sender […] MUST send"));
        assert!(!is_exact("6.1", "The sender MUST send"));
        assert!(!is_exact("6.2", "The sender"));
    }
}
