//! Modules of a crate, read as text. What does each file define, import and name?
//!
//! No parser of Rust is needed: the workspace is formatted, so items of a file begin in its first column.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::Source;

/// A path of module names below the crate's root.
pub(crate) type ModulePath = Vec<String>;

/// The files of one crate by their module paths, tests left out.
pub(crate) type Modules = BTreeMap<ModulePath, Module>;

/// One file.
#[derive(Debug)]
pub(crate) struct Module {
    /// Where it is, below the folder of the crate's sources.
    pub(crate) file: String,
    pub(crate) imports: Vec<Import>,
    /// Names of its items.
    pub(crate) defines: BTreeSet<String>,
    /// Its code without comments, strings, imports and tests.
    pub(crate) body: String,
}

/// One name that a `use` brings.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) segments: Vec<String>,
    /// What it is called here.
    pub(crate) name: String,
    /// Others may import it from here.
    pub(crate) is_public: bool,
}

/// Reads the modules below `folder`, such as `crates/proto/src/`.
pub(crate) fn of_crate(sources: &[Source], folder: &str) -> Modules {
    let inner = |source: &Source| source.path.strip_prefix(folder).map(str::to_owned);
    let files = sources.iter().filter_map(|source| Some((inner(source)?, source)));
    let files = files.filter(|(file, _)| !file.ends_with("tests.rs") && !file.contains("/tests/"));
    files
        .map(|(file, source)| (module_path(&file), read(file, &source.text)))
        .collect()
}

fn module_path(file: &str) -> ModulePath {
    let stem = file.trim_end_matches(".rs");
    let mut path: ModulePath = stem.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

fn read(file: String, text: &str) -> Module {
    let code = code(text);
    let (mut imports, mut body) = (Vec::new(), String::new());
    let mut rest = code.lines();
    while let Some(line) = rest.next() {
        let (is_public, statement) = without_visibility(line.trim_start());
        let Some(first) = statement.strip_prefix("use ") else {
            body.push_str(line);
            body.push('\n');
            continue;
        };
        let mut tree = first.to_owned();
        while !tree.contains(';') {
            let Some(more) = rest.next() else { break };
            tree.push_str(more.trim());
        }
        expand(
            tree.split(';').next().unwrap_or_default(),
            &[],
            is_public,
            &mut imports,
        );
    }
    let defines = body.lines().filter_map(defined).collect();
    Module {
        file,
        imports,
        defines,
        body,
    }
}

/// The code of a file without comments, the contents of strings, and what follows the head of an inline test module.
pub(crate) fn code(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |pair: &[&str]| {
        pair[0].trim() == "#[cfg(test)]" && pair[1].trim_start().starts_with("mod ") && pair[1].ends_with('{')
    };
    let end = lines.windows(2).position(opens_tests).unwrap_or(lines.len());
    lines[..end]
        .iter()
        .map(|line| without_strings(line) + "\n")
        .collect()
}

fn without_strings(line: &str) -> String {
    let (mut kept, mut in_string, mut escaped) = (String::new(), false, false);
    for (at, character) in line.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '/' if !in_string && line[at..].starts_with("//") => break,
            _ if !in_string => kept.push(character),
            _ => {}
        }
    }
    kept
}

/// Whether a line begins with `pub` or `pub(…)`, and what follows.
fn without_visibility(line: &str) -> (bool, &str) {
    let Some(rest) = line.strip_prefix("pub") else {
        return (false, line);
    };
    let rest = rest
        .strip_prefix('(')
        .and_then(|inner| inner.split_once(')'))
        .map_or(rest, |(_, rest)| rest);
    rest.strip_prefix(' ').map_or((false, line), |rest| (true, rest))
}

fn defined(line: &str) -> Option<String> {
    const ITEMS: [&str; 7] = ["struct ", "enum ", "trait ", "fn ", "const ", "static ", "type "];
    let (_, item) = without_visibility(line);
    let item = item.strip_prefix("const fn ").unwrap_or(item);
    let named = ITEMS
        .iter()
        .find_map(|keyword| item.strip_prefix(keyword))
        .unwrap_or(item);
    let is_item = named.len() < item.len() || line.contains("const fn ");
    let name: String = named
        .chars()
        .take_while(|&c| c.is_alphanumeric() || c == '_')
        .collect();
    (is_item && !line.starts_with(' ') && !name.is_empty()).then_some(name)
}

/// Each name that the tree of a `use` brings.
fn expand(tree: &str, above: &[String], is_public: bool, imports: &mut Vec<Import>) {
    let (head, group) = match tree.split_once('{') {
        Some((head, rest)) => (head, Some(rest.trim().trim_end_matches('}'))),
        None => (tree, None),
    };
    let (path, alias) = head.split_once(" as ").unwrap_or((head, ""));
    let own = path
        .split("::")
        .map(str::trim)
        .filter(|segment| !segment.is_empty());
    let mut segments: Vec<String> = above.iter().cloned().chain(own.map(str::to_owned)).collect();
    if let Some(group) = group {
        for part in parts(group) {
            expand(part, &segments, is_public, imports);
        }
        return;
    }
    if segments.last().is_some_and(|last| last == "self") {
        segments.pop();
    }
    let name = if alias.is_empty() {
        segments.last().cloned()
    } else {
        Some(alias.trim().to_owned())
    };
    imports.extend(name.map(|name| Import {
        segments,
        name,
        is_public,
    }));
}

/// The parts of a group, divided by commas that stand in no group within.
fn parts(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_i32, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&group[start..]);
    found.retain(|part| !part.trim().is_empty());
    found
}
