//! Requirements of an RFC, read from `docs/conformance/rfcNNNN*.toml`. What does the standard ask, and is it done?

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::FOLDER;
use crate::finding::{Failure, Finding};

/// How strongly the standard asks (RFC 2119): REQUIRED and SHALL count as MUST, RECOMMENDED as SHOULD.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum Level {
    #[serde(rename = "MUST")]
    Must,
    #[serde(rename = "MUST NOT")]
    MustNot,
    #[serde(rename = "SHOULD")]
    Should,
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
}

impl Level {
    pub(super) const ALL: [Self; 4] = [Self::Must, Self::MustNot, Self::Should, Self::ShouldNot];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
        }
    }
}

/// One normative statement, in our own words.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Requirement {
    /// Section and running number: `6.1-3`.
    pub(super) id: String,
    pub(super) level: Level,
    pub(super) text: String,
    /// How many key words of the text the statement stands for.
    #[serde(default = "one")]
    pub(super) occurrences: u32,
    /// Why it is not implemented.
    pub(super) not_done: Option<String>,
    /// Where the code departs from it.
    pub(super) except: Option<String>,
    /// Number of the decision record that says why a MUST or MUST NOT is not implemented, or what an exception is for.
    pub(super) adr: Option<String>,
    /// Why it does not bind an implementation of SCTP such as ours.
    pub(super) not_applicable: Option<String>,
    /// The number of the RFC; set while reading.
    #[serde(skip)]
    pub(super) rfc: u32,
    /// The file that holds it; set while reading.
    #[serde(skip)]
    pub(super) file: String,
}

const fn one() -> u32 {
    1
}

impl Requirement {
    /// The section of the id: `6.1` of `6.1-3`.
    pub(super) fn section(&self) -> &str {
        self.id.rsplit_once('-').map_or("", |(section, _)| section)
    }

    /// The running number of the id: 3 of `6.1-3`.
    fn number(&self) -> Option<u32> {
        self.id
            .rsplit_once('-')
            .and_then(|(_, number)| number.parse().ok())
    }

    pub(super) fn is_marked(&self) -> bool {
        self.not_done.is_some() || self.not_applicable.is_some()
    }

    pub(super) fn finding(&self, what: String) -> Finding {
        Finding {
            at: format!("{}, {}", self.file, self.id),
            what,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rfc: u32,
    #[serde(default)]
    requirement: Vec<Requirement>,
}

/// One section of an RFC: its title and its key words by level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Section {
    pub(super) title: String,
    #[serde(flatten)]
    pub(super) keywords: BTreeMap<String, u32>,
}

/// The committed counts of an RFC: `docs/conformance/rfcNNNN.counts.toml`.
#[derive(Debug, Deserialize)]
pub(super) struct Counts {
    pub(super) rfc: u32,
    pub(super) sections: BTreeMap<String, Section>,
}

/// Every requirement and every count of the folder.
#[derive(Debug, Default)]
pub(super) struct Standards {
    /// In the order of the texts.
    pub(super) requirements: Vec<Requirement>,
    pub(super) counts: Vec<Counts>,
}

/// Reads all files `rfc*.toml` of the folder. An RFC may have several; `*.counts.toml` holds its key words.
///
/// # Errors
/// When a file cannot be read or has another form.
pub(super) fn read(root: &Path) -> Result<Standards, Failure> {
    let mut standards = Standards::default();
    for name in names(root)? {
        let path = format!("{FOLDER}/{name}");
        let text =
            fs::read_to_string(root.join(&path)).map_err(|error| Failure(format!("{path}: {error}")))?;
        let malformed = |error: toml::de::Error| Failure(format!("{path}: {error}"));
        if name.ends_with(".counts.toml") {
            standards.counts.push(toml::from_str(&text).map_err(malformed)?);
        } else {
            let file: File = toml::from_str(&text).map_err(malformed)?;
            standards
                .requirements
                .extend(file.requirement.into_iter().map(|requirement| Requirement {
                    rfc: file.rfc,
                    file: path.clone(),
                    ..requirement
                }));
        }
    }
    // The newest standard comes first.
    standards.counts.sort_by_key(|counts| Reverse(counts.rfc));
    standards.requirements.sort_by_key(|requirement| {
        (
            requirement.rfc,
            section_key(requirement.section()),
            requirement.number(),
        )
    });
    Ok(standards)
}

fn names(root: &Path) -> Result<Vec<String>, Failure> {
    let unreadable = |error: std::io::Error| Failure(format!("{FOLDER}: {error}"));
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).map_err(unreadable)? {
        let name = entry
            .map_err(unreadable)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("rfc") && name.ends_with(".toml") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Sections in the order of the text: 6.2 before 6.10.
pub(super) fn section_key(section: &str) -> Vec<u32> {
    section
        .split('.')
        .map(|part| part.parse().unwrap_or(u32::MAX))
        .collect()
}

/// Ids that are not `section-number`, or that do not count 1, 2, 3 … within their section.
pub(super) fn misnumbered(requirements: &[Requirement]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut previous: Option<(u32, &str, u32)> = None;
    for requirement in requirements {
        let here = (requirement.rfc, requirement.section());
        let expected = match previous {
            Some((rfc, section, number)) if (rfc, section) == here => number + 1,
            _ => 1,
        };
        if requirement.number() != Some(expected) {
            let right = format!("{}-{expected}", requirement.section());
            findings.push(requirement.finding(format!("the next id of its section is {right}")));
        }
        previous = Some((here.0, here.1, requirement.number().unwrap_or(expected)));
    }
    findings
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Requirements of RFC 9260 as a file would give them.
    pub(in crate::conformance) fn parse(text: &str) -> Vec<Requirement> {
        let file: File = toml::from_str(&format!("rfc = 9260\n{text}")).expect("a file of requirements");
        file.requirement
            .into_iter()
            .map(|requirement| Requirement {
                rfc: file.rfc,
                file: "rfc9260.toml".to_owned(),
                ..requirement
            })
            .collect()
    }

    pub(in crate::conformance) fn requirement(id: &str, more: &str) -> Requirement {
        parse(&format!(
            "[[requirement]]\nid = \"{id}\"\nlevel = \"MUST\"\ntext = \"t\"\n{more}"
        ))
        .pop()
        .expect("one requirement")
    }

    #[test]
    fn a_gap_and_a_repetition_in_the_numbers_are_found() {
        let good = ["6.1-1", "6.1-2", "6.2-1"].map(|id| requirement(id, ""));
        assert_eq!(misnumbered(&good), []);
        for bad in [["6.1-1", "6.1-3"], ["6.1-1", "6.1-1"], ["6.1-1", "6.2"]] {
            assert_eq!(
                misnumbered(&bad.map(|id| requirement(id, ""))).len(),
                1,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn sections_sort_as_numbers() {
        assert!(section_key("6.2") < section_key("6.10"));
        assert!(section_key("6.1") < section_key("6.1.1"));
    }
}
