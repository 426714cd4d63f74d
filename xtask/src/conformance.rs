//! Conformance to RFCs. Is each normative statement implemented and shown by a test, and does the page say so?
//!
//! `docs/conformance/rfcNNNN*.toml` states the rules in our own words, [`annotations`] in the code say where each is
//! implemented and tested, and `docs/conformance.md` is made of both. CONTRIBUTING.md tells how to write them.

mod annotations;
mod check;
mod page;
mod quotations;
mod requirements;
mod text;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use annotations::Annotation;
use requirements::Standards;

use crate::finding::{Failure, Finding, Outcome};
use crate::sources::{self, Source};

const FOLDER: &str = "docs/conformance";
const PAGE: &str = "docs/conformance.md";

/// Checks, or does what the first option asks.
///
/// # Errors
/// When a file cannot be read or an option is not known.
pub(crate) fn run(root: &Path, options: &[String]) -> Outcome {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    match options[..] {
        [] => check(root),
        ["--markdown"] => write_page(root),
        ["--missing"] => list_missing(root),
        ["--count", text] => print_counts(Path::new(text)),
        ["--quotations", texts] => quotations::verify(root, Path::new(texts)),
        _ => Err(Failure(
            "usage: cargo xtask conformance [--markdown | --missing | --count RFC.txt | --quotations FOLDER-OF-RFCS]"
                .to_owned(),
        )),
    }
}

/// The rules, the annotations and what is wrong with their form.
struct Material {
    standards: Standards,
    annotations: Vec<Annotation>,
    findings: Vec<Finding>,
    sources: Vec<Source>,
}

fn read(root: &Path) -> Result<Material, Failure> {
    let standards = requirements::read(root)?;
    let sources = sources::all(root)?;
    let (mut annotations, mut findings) = (Vec::new(), Vec::new());
    // The annotations in this crate are examples.
    for source in sources.iter().filter(|source| !source.path.starts_with("xtask/")) {
        let (found, wrong) = annotations::of(source);
        annotations.extend(found);
        findings.extend(wrong);
    }
    Ok(Material {
        standards,
        annotations,
        findings,
        sources,
    })
}

fn check(root: &Path) -> Outcome {
    let Material {
        standards,
        annotations,
        mut findings,
        sources,
    } = read(root)?;
    println!(
        "conformance: {} requirements, {} annotations",
        standards.requirements.len(),
        annotations.len()
    );
    findings.extend(check::numbers(&standards));
    findings.extend(check::marks(&standards, &records(root)?));
    findings.extend(check::annotations(&standards, &annotations));
    findings.extend(quotations::check(root, &sources)?);
    let page = fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    if page != page::of(&standards, &annotations) {
        findings.push(Finding {
            at: PAGE.to_owned(),
            what: "is not what the code says now; run `make docs`".to_owned(),
        });
    }
    Ok(findings)
}

fn write_page(root: &Path) -> Outcome {
    let material = read(root)?;
    let page = page::of(&material.standards, &material.annotations);
    fs::write(root.join(PAGE), page).map_err(|error| Failure(format!("{PAGE}: {error}")))?;
    Ok(material.findings)
}

/// Prints what is still to annotate.
fn list_missing(root: &Path) -> Outcome {
    let material = read(root)?;
    for (requirement, missing) in check::missing(&material.standards, &material.annotations) {
        println!(
            "{} {}: {} ({missing})",
            requirement.id,
            requirement.level.name(),
            requirement.text
        );
    }
    Ok(material.findings)
}

/// Prints the file of counts for an RFC's text, whose number is in the file's name.
fn print_counts(file: &Path) -> Outcome {
    let text = fs::read_to_string(file).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let number = name.trim_start_matches("rfc");
    let mut counts = String::new();
    let written = write_counts(&mut counts, number, &text);
    written.map_err(|error| Failure(error.to_string()))?;
    print!("{counts}");
    Ok(Vec::new())
}

fn write_counts(counts: &mut String, number: &str, text: &str) -> std::fmt::Result {
    writeln!(
        counts,
        "# Key words of RFC {number} by section, counted in its text by"
    )?;
    writeln!(
        counts,
        "# `cargo xtask conformance --count rfc{number}.txt`. REQUIRED and SHALL count as MUST,"
    )?;
    writeln!(
        counts,
        "# RECOMMENDED as SHOULD. Sections that state no rules are left out: the conventions that"
    )?;
    writeln!(
        counts,
        "# define the key words, the list of changes, the references."
    )?;
    writeln!(counts, "rfc = {number}\n\n[sections]")?;
    for (number, section) in text::count(text) {
        write!(counts, "\"{number}\" = {{ title = {:?}", section.title)?;
        for (level, count) in &section.keywords {
            let key = if level.contains(' ') {
                format!("{level:?}")
            } else {
                level.clone()
            };
            write!(counts, ", {key} = {count}")?;
        }
        writeln!(counts, " }}")?;
    }
    Ok(())
}

/// The numbers of the decision records.
fn records(root: &Path) -> Result<Vec<String>, Failure> {
    let unreadable = |error: std::io::Error| Failure(format!("docs/adr: {error}"));
    let mut numbers = Vec::new();
    for entry in fs::read_dir(root.join("docs/adr")).map_err(unreadable)? {
        let name = entry
            .map_err(unreadable)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        numbers.extend(name.split_once('-').map(|(number, _)| number.to_owned()));
    }
    Ok(numbers)
}
