//! Rings of imports in the core. Which files need each other, directly or by others?
//!
//! An arrow goes from a file to each file whose items it imports or names by a path. A name that was imported from a re-export
//! counts for the file that defines it, and a re-export itself counts only if its file uses the name: `mod.rs` files would tie
//! everything to everything else. Calls of methods are not seen. A ring is a strongly connected component.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{ModulePath, Modules};
use crate::finding::Finding;

/// The largest ring that may be.
const MAX_FILES: usize = 6;

/// Re-exports that are followed for one name.
const MAX_HOPS: usize = 8;

type Arrows = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// Finds the rings that are too large.
pub(crate) fn check(modules: &Modules, folder: &str) -> Vec<Finding> {
    let rings = rings(&arrows(modules));
    let largest = rings.iter().map(Vec::len).max().unwrap_or(0);
    println!("largest ring of imports in {folder}: {largest} files, at most {MAX_FILES}");
    let too_large = rings.iter().filter(|ring| ring.len() > MAX_FILES);
    let finding = |ring: &Vec<ModulePath>| Finding {
        at: folder.to_owned(),
        what: format!(
            "{} files need each other, {MAX_FILES} may: {}",
            ring.len(),
            ring.iter()
                .map(|path| modules[path].file.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    too_large.map(finding).collect()
}

fn arrows(modules: &Modules) -> Arrows {
    let from = |(path, module): (&ModulePath, _)| (path.clone(), needed_by(modules, path, module));
    modules.iter().map(from).collect()
}

fn needed_by(modules: &Modules, path: &ModulePath, module: &super::modules::Module) -> BTreeSet<ModulePath> {
    let words: BTreeSet<&str> = module
        .body
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let used = module
        .imports
        .iter()
        .filter(|import| !import.is_public || words.contains(import.name.as_str()))
        .map(|import| import.segments.clone());
    let inline = module
        .body
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let inline = inline
        .filter(|token| token.contains("::"))
        .map(|token| token.split("::").map(str::to_owned).collect());
    used.chain(inline)
        .filter_map(|segments| definition(modules, path, &segments, 0))
        .filter(|target| target != path)
        .collect()
}

/// The file that defines what `segments` name in the module `at`; `None` for what is outside the crate.
fn definition(modules: &Modules, at: &ModulePath, segments: &[String], hops: usize) -> Option<ModulePath> {
    let (mut module, mut rest) = match segments.first()?.as_str() {
        "crate" => (Vec::new(), &segments[1..]),
        "self" => (at.clone(), &segments[1..]),
        "super" => {
            let ups = segments.iter().take_while(|segment| *segment == "super").count();
            (at[..at.len().checked_sub(ups)?].to_vec(), &segments[ups..])
        }
        child => {
            let path: ModulePath = at.iter().cloned().chain([child.to_owned()]).collect();
            modules.get(&path)?;
            (path, &segments[1..])
        }
    };
    while let Some((first, others)) = rest.split_first() {
        let child: ModulePath = module.iter().chain([first]).cloned().collect();
        if !modules.contains_key(&child) {
            break;
        }
        (module, rest) = (child, others);
    }
    let here = modules.get(&module)?;
    let Some(name) = rest
        .first()
        .filter(|name| !here.defines.contains(*name) && hops < MAX_HOPS)
    else {
        return Some(module);
    };
    match here.imports.iter().find(|import| import.name == *name) {
        Some(import) => {
            let further: Vec<String> = import.segments.iter().chain(&rest[1..]).cloned().collect();
            definition(modules, &module, &further, hops + 1)
        }
        None => Some(module),
    }
}

/// The strongly connected components of more than one file: sets of files that reach each other.
fn rings(arrows: &Arrows) -> Vec<Vec<ModulePath>> {
    let reach: Arrows = arrows
        .keys()
        .map(|start| (start.clone(), reached(arrows, start)))
        .collect();
    let mut rings: Vec<Vec<ModulePath>> = Vec::new();
    for (path, reached) in &reach {
        if rings.iter().any(|ring| ring.contains(path)) {
            continue;
        }
        let back = |other: &&ModulePath| reach.get(*other).is_some_and(|reach| reach.contains(path));
        let ring: Vec<ModulePath> = reached.iter().filter(back).cloned().collect();
        if ring.len() > 1 {
            rings.push(ring);
        }
    }
    rings
}

fn reached(arrows: &Arrows, start: &ModulePath) -> BTreeSet<ModulePath> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(path) = open.pop() {
        for next in arrows.get(path).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::modules;
    use super::*;
    use crate::sources::Source;

    fn rings_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let source = |(path, text): &(&str, &str)| Source {
            path: format!("core/src/{path}"),
            text: (*text).to_owned(),
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        let modules = modules::of_crate(&sources, "core/src/");
        let names = |ring: Vec<ModulePath>| ring.iter().map(|path| modules[path].file.clone()).collect();
        rings(&arrows(&modules)).into_iter().map(names).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_ring() {
        let files = [
            ("a.rs", "use crate::b::{B, C};\npub struct A(B, C);\n"),
            ("b.rs", "pub struct B;\nfn back() { crate::c::go() }\n"),
            ("c.rs", "use super::a::A;\npub fn go() {}\n"),
        ];
        assert_eq!(rings_of(&files), [["a.rs", "b.rs", "c.rs"]]);
    }

    #[test]
    fn imported_re_export_counts_for_the_file_that_defines_it() {
        let files = [
            (
                "room/mod.rs",
                "mod inner;\npub(crate) use inner::Inner;\nuse crate::a::A;\n",
            ),
            ("room/inner.rs", "pub(crate) struct Inner;\n"),
            ("a.rs", "use crate::room::Inner;\npub struct A(Inner);\n"),
        ];
        assert!(rings_of(&files).is_empty());
    }

    #[test]
    fn re_export_that_its_file_uses_is_an_import() {
        let files = [
            ("room/mod.rs", "pub use inner::Inner;\npub struct Room(Inner);\n"),
            (
                "room/inner.rs",
                "use super::Room;\npub struct Inner;\nfn of(room: Room) {}\n",
            ),
        ];
        assert_eq!(rings_of(&files), [["room/mod.rs", "room/inner.rs"]]);
    }

    #[test]
    fn comments_strings_and_tests_import_nothing() {
        let files = [
            ("a.rs", "use crate::b::B;\n"),
            (
                "b.rs",
                "// crate::a::A\nconst TEXT: &str = \"crate::a::A\";\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
        ];
        assert!(rings_of(&files).is_empty());
    }
}
