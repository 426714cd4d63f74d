//! Ownership in the core. How many functions take the whole association mutably?
//!
//! Counted are functions with a parameter `&mut Association`, by whatever path or lifetime, and methods with `&mut self` in an
//! `impl Association`. Each may change everything, so each has to be read to know what a change does.
//!
//! No file of `transfer/` may name it at all: data transfer returns what the association has to do.

use super::modules::Modules;
use crate::finding::Finding;

/// Fewer functions than this take it mutably.
const LIMIT: usize = 40;

const OWNER: &str = "Association";

/// Finds files of `transfer/` that name the association, and counts who takes it mutably.
pub(crate) fn check(modules: &Modules, folder: &str) -> Vec<Finding> {
    let finding = |at: &str, what: String| Finding {
        at: at.to_owned(),
        what,
    };
    let transfer = modules
        .values()
        .filter(|module| module.file.starts_with("transfer/"));
    let names_it = |text: &str| words(text).any(|word| word == OWNER);
    let named = transfer.filter(|module| {
        let imports = module
            .imports
            .iter()
            .any(|import| import.segments.iter().any(|part| part == OWNER));
        imports || names_it(&module.body)
    });
    let mut findings: Vec<Finding> = named
        .map(|module| {
            finding(
                &format!("{folder}{}", module.file),
                format!("names {OWNER}; return what it has to do"),
            )
        })
        .collect();
    let takers: usize = modules.values().map(|module| takers(&module.body)).sum();
    println!("functions in {folder} that take the {OWNER} mutably: {takers}, fewer than {LIMIT}");
    if takers >= LIMIT {
        let what = format!("{takers} functions take the {OWNER} mutably; fewer than {LIMIT} may");
        findings.push(finding(folder, what));
    }
    findings
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn takers(body: &str) -> usize {
    let mut in_impl = false;
    let mut count = 0;
    let mut rest = body;
    while let Some(line) = rest.lines().next() {
        if line.starts_with("impl") {
            in_impl = line.contains(" Association {") && !line.contains(" for ");
        } else if line.starts_with('}') {
            in_impl = false;
        }
        if let Some(at) = function(line) {
            let parameters = parameters(&rest[at..]);
            count += usize::from(takes(&parameters, in_impl));
        }
        rest = rest.get(line.len() + 1..).unwrap_or_default();
    }
    count
}

/// Where in the line the name of a function begins.
fn function(line: &str) -> Option<usize> {
    let at = line.find("fn ")?;
    let is_word = line[..at].chars().next_back().is_none_or(|before| before == ' ');
    is_word.then_some(at + 3)
}

/// What stands between the parentheses of a function, without spaces.
fn parameters(text: &str) -> String {
    let (mut angles, mut depth, mut found) = (0_i32, 0_i32, String::new());
    for character in text.chars() {
        match character {
            '<' if depth == 0 => angles += 1,
            '>' if depth == 0 => angles -= 1,
            '(' if angles == 0 => depth += 1,
            ')' if angles == 0 => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            '{' | ';' if depth == 0 => break,
            _ => {}
        }
        if depth > 0 && !character.is_whitespace() {
            found.push(character);
        }
    }
    found
}

fn takes(parameters: &str, in_impl: bool) -> bool {
    let mut borrows = parameters.split('&').skip(1).filter_map(|borrow| {
        // A lifetime stands before `mut`.
        let borrow = borrow
            .split_once("mut")
            .filter(|(before, _)| before.is_empty() || before.starts_with('\''));
        let kind = borrow?.1.split([',', ')', '>']).next()?;
        Some(kind.rsplit("::").next().unwrap_or(kind).to_owned())
    });
    borrows.any(|kind| kind == OWNER || (in_impl && (kind == "self" || kind == "Self")))
}

#[cfg(test)]
mod tests {
    use super::takers;

    #[test]
    fn borrows_of_the_association_are_counted() {
        let body = "fn one(association: &mut Association, now: Instant) {}\n\
                    fn two<'a, F: Fn(u8)>(\n    now: Instant,\n    a: &'a mut crate::association::Association,\n) {}\n\
                    impl Association {\n    pub(crate) fn three(&mut self) {}\n    fn none(&self) {}\n}\n\
                    impl Other {\n    fn none(&mut self, association: &Association) {}\n}\n";
        assert_eq!(takers(body), 3);
    }
}
