//! Checks of the requirements. Is each implemented and tested or marked, and does none of the text lack?

use std::collections::BTreeMap;

use super::annotations::Annotation;
use super::requirements::{Level, Requirement, Standards, misnumbered};
use crate::finding::Finding;

/// Requirements that are numbered wrongly, and sections whose key words they do not all stand for.
pub(super) fn numbers(standards: &Standards) -> Vec<Finding> {
    let mut findings = misnumbered(&standards.requirements);
    for counts in &standards.counts {
        let mut stated: BTreeMap<(&str, Level), u32> = BTreeMap::new();
        for requirement in standards
            .requirements
            .iter()
            .filter(|requirement| requirement.rfc == counts.rfc)
        {
            *stated
                .entry((requirement.section(), requirement.level))
                .or_default() += requirement.occurrences;
        }
        for (number, section) in &counts.sections {
            for level in Level::ALL {
                let counted = section.keywords.get(level.name()).copied().unwrap_or(0);
                let stated = stated.remove(&(number.as_str(), level)).unwrap_or(0);
                if counted != stated {
                    findings.push(section_finding(counts.rfc, number, level, counted, stated));
                }
            }
        }
        let uncounted = stated.into_iter();
        findings.extend(
            uncounted.map(|((number, level), stated)| section_finding(counts.rfc, number, level, 0, stated)),
        );
    }
    findings
}

fn section_finding(rfc: u32, section: &str, level: Level, counted: u32, stated: u32) -> Finding {
    Finding {
        at: format!("RFC {rfc} §{section}"),
        what: format!(
            "has {} {counted} times, the requirements stand for {stated}",
            level.name()
        ),
    }
}

/// Marks that contradict each other, and a MUST that is not done without a decision record.
pub(super) fn marks(standards: &Standards, records: &[String]) -> Vec<Finding> {
    let wrong = |requirement: &Requirement| {
        if requirement.not_done.is_some() && requirement.not_applicable.is_some() {
            return Some("is either not done or not applicable".to_owned());
        }
        match &requirement.adr {
            Some(adr) if !records.contains(adr) => Some(format!("decision record {adr} does not exist")),
            Some(_) if requirement.not_done.is_none() && requirement.except.is_none() => {
                Some("`adr` belongs to `not-done` or `except`".to_owned())
            }
            None if requirement.except.is_some() => Some("`except` needs an `adr`".to_owned()),
            None if requirement.not_done.is_some() && is_absolute(requirement.level) => Some(format!(
                "is a {} that is not done: `adr` must say why",
                requirement.level.name()
            )),
            _ => None,
        }
    };
    let requirements = standards.requirements.iter();
    requirements
        .filter_map(|requirement| wrong(requirement).map(|what| requirement.finding(what)))
        .collect()
}

const fn is_absolute(level: Level) -> bool {
    matches!(level, Level::Must | Level::MustNot)
}

/// Annotations of unknown ids or of requirements that are not done, and requirements without annotations.
pub(super) fn annotations(standards: &Standards, annotations: &[Annotation]) -> Vec<Finding> {
    let known: BTreeMap<(u32, &str), &Requirement> = standards
        .requirements
        .iter()
        .map(|requirement| ((requirement.rfc, requirement.id.as_str()), requirement))
        .collect();
    let mut findings = Vec::new();
    for annotation in annotations {
        let what = match known.get(&(annotation.rfc, annotation.id.as_str())) {
            None => format!("RFC {} has no requirement {}", annotation.rfc, annotation.id),
            Some(requirement) if requirement.is_marked() => {
                format!("{} is marked as not done or not applicable", annotation.id)
            }
            Some(_) => continue,
        };
        findings.push(Finding {
            at: format!("{}:{}", annotation.path, annotation.line),
            what,
        });
    }
    findings.extend(
        missing(standards, annotations)
            .into_iter()
            .map(|(requirement, missing)| {
                requirement.finding(format!(
                    "has {missing}; annotate it or mark it `not-done` or `not-applicable`"
                ))
            }),
    );
    findings
}

/// Requirements that are not marked and lack an annotation in the code or at a test.
pub(super) fn missing<'a>(
    standards: &'a Standards,
    annotations: &[Annotation],
) -> Vec<(&'a Requirement, &'static str)> {
    let is_annotated = |requirement: &Requirement, is_test: bool| {
        annotations.iter().any(|annotation| {
            (annotation.rfc, annotation.id.as_str(), annotation.is_test)
                == (requirement.rfc, requirement.id.as_str(), is_test)
        })
    };
    let missing = |requirement: &'a Requirement| {
        let what = match (is_annotated(requirement, false), is_annotated(requirement, true)) {
            (true, true) => return None,
            (false, true) => "no annotation in the code",
            (true, false) => "no annotation at a test",
            (false, false) => "no annotation",
        };
        Some((requirement, what))
    };
    let requirements = standards.requirements.iter();
    requirements
        .filter(|requirement| !requirement.is_marked())
        .filter_map(missing)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::requirements::tests::requirement;
    use super::super::requirements::{Counts, Section};
    use super::*;

    fn standards(requirements: Vec<Requirement>) -> Standards {
        Standards {
            requirements,
            counts: Vec::new(),
        }
    }

    fn annotation(id: &str, is_test: bool) -> Annotation {
        Annotation {
            rfc: 9260,
            id: id.to_owned(),
            path: "crates/proto/src/a.rs".to_owned(),
            line: 1,
            item: "a".to_owned(),
            is_test,
        }
    }

    #[test]
    fn a_section_whose_counts_differ_is_found() {
        let section = Section {
            title: "Rules".to_owned(),
            keywords: [("MUST".to_owned(), 2)].into(),
        };
        let counts = |requirements| Standards {
            requirements,
            counts: vec![Counts {
                rfc: 9260,
                sections: [("1".to_owned(), section.clone())].into(),
            }],
        };
        assert_eq!(numbers(&counts(vec![requirement("1-1", "occurrences = 2")])), []);
        assert_eq!(numbers(&counts(vec![requirement("1-1", "")])).len(), 1);
        let uncounted = vec![requirement("1-1", "occurrences = 2"), requirement("2-1", "")];
        assert_eq!(numbers(&counts(uncounted)).len(), 1);
    }

    #[test]
    fn a_must_that_is_not_done_needs_an_existing_record() {
        let records = ["0001".to_owned()];
        let check = |more| marks(&standards(vec![requirement("1-1", more)]), &records).len();
        assert_eq!(check("not-done = \"why\"\nadr = \"0001\""), 0);
        assert_eq!(check("not-done = \"why\"\nadr = \"0002\""), 1);
        assert_eq!(check("except = \"when\""), 1);
        assert_eq!(check("not-done = \"why\""), 1);
        assert_eq!(check("not-applicable = \"why\""), 0);
        assert_eq!(check("not-applicable = \"why\"\nnot-done = \"why\""), 1);
    }

    #[test]
    fn a_requirement_needs_an_annotation_in_code_and_at_a_test() {
        let standards = standards(vec![requirement("1-1", "")]);
        let both = [annotation("1-1", false), annotation("1-1", true)];
        assert_eq!(annotations(&standards, &both), []);
        assert_eq!(annotations(&standards, &both[..1]).len(), 1);
        assert_eq!(annotations(&standards, &both[1..]).len(), 1);
    }

    #[test]
    fn annotations_of_unknown_and_of_marked_requirements_are_found() {
        let standards = standards(vec![requirement("1-1", "not-applicable = \"why\"")]);
        assert_eq!(annotations(&standards, &[]), []);
        for id in ["1-1", "1-2"] {
            assert_eq!(annotations(&standards, &[annotation(id, false)]).len(), 1, "{id}");
        }
    }
}
