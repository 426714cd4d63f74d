//! Annotations `//= rfc9260 6.1-3` of the code. Which requirement is implemented where, and which test shows it?
//!
//! An annotation stands alone on a line above the statement, the item or the test that it is about; several ids are
//! separated by commas. Above an item it comes before the doc comment and the attributes.

use crate::finding::Finding;
use crate::sources::Source;

const MARK: &str = "//= ";

/// An annotation with one id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Annotation {
    /// `rfc9260`: the number.
    pub(super) rfc: u32,
    /// `6.1-3`.
    pub(super) id: String,
    /// The file and the line that it stands in.
    pub(super) path: String,
    pub(super) line: usize,
    /// The function or item that it is about.
    pub(super) item: String,
    pub(super) is_test: bool,
}

/// All annotations of a file, and those that cannot be understood.
pub(super) fn of(source: &Source) -> (Vec<Annotation>, Vec<Finding>) {
    let lines: Vec<&str> = source.text.lines().collect();
    let tests_from = first_test_line(source, &lines);
    let (mut annotations, mut findings) = (Vec::new(), Vec::new());
    for (index, line) in lines.iter().enumerate() {
        let Some(list) = line.trim_start().strip_prefix(MARK) else {
            continue;
        };
        let is_test = index >= tests_from || has_test_attribute(&lines, index);
        match (ids(list), subject(&lines, index, is_test)) {
            (Some((rfc, ids)), Ok(item)) => annotations.extend(ids.into_iter().map(|id| Annotation {
                rfc,
                id,
                path: source.path.clone(),
                line: index + 1,
                item: item.clone(),
                is_test,
            })),
            (None, _) => findings.push(finding(source, index, "write `//= rfc9260 6.1-3, 6.1-4`")),
            (_, Err(what)) => findings.push(finding(source, index, what)),
        }
    }
    (annotations, findings)
}

fn finding(source: &Source, index: usize, what: &str) -> Finding {
    Finding {
        at: format!("{}:{}", source.path, index + 1),
        what: what.to_owned(),
    }
}

/// `rfc9260 6.1-3, 6.1-4`: the RFC and the ids.
fn ids(list: &str) -> Option<(u32, Vec<String>)> {
    let (rfc, ids) = list.trim().split_once(' ')?;
    let ids: Vec<String> = ids.split(',').map(|id| id.trim().to_owned()).collect();
    let is_whole = ids
        .iter()
        .all(|id| id.contains('-') && !id.contains(char::is_whitespace));
    let rfc = rfc.strip_prefix("rfc")?.parse().ok()?;
    is_whole.then_some((rfc, ids))
}

/// The first line that belongs to tests: all lines of a file of tests, else those of its inline test module.
fn first_test_line(source: &Source, lines: &[&str]) -> usize {
    let path = source.path.as_str();
    let is_file_of_tests = ["crates/tests/", "interop/"]
        .iter()
        .any(|home| path.starts_with(home))
        || path.contains("/tests/")
        || path.contains("/laws/")
        || path.ends_with("/tests.rs");
    if is_file_of_tests {
        return 0;
    }
    let opens_tests = |pair: &[&str]| {
        let (attribute, module) = (pair[0].trim(), pair[1].trim());
        attribute == "#[cfg(test)]" && module.starts_with("mod ") && module.ends_with('{')
    };
    lines.windows(2).position(opens_tests).unwrap_or(usize::MAX)
}

/// The item that an annotation is about: the one below it, or the one around it if a statement is below it.
fn subject(lines: &[&str], at: usize, is_test: bool) -> Result<String, &'static str> {
    let below = lines[at + 1..]
        .iter()
        .take_while(|line| !line.trim().is_empty())
        .find(|line| !is_preamble(line.trim()))
        .ok_or("nothing stands below the annotation")?;
    if is_test {
        return match item(below.trim()) {
            Some((kind, name)) if has_test_attribute(lines, at) && kind == "fn" => Ok(name),
            _ => Err("in tests an annotation stands directly above a test function"),
        };
    }
    if let Some((_, name)) = item(below.trim()) {
        return Ok(name);
    }
    around(lines, at).ok_or("the annotation is in no item")
}

/// Whether a test stands below the line.
fn has_test_attribute(lines: &[&str], at: usize) -> bool {
    lines[at + 1..]
        .iter()
        .map(|line| line.trim())
        .take_while(|line| is_preamble(line))
        .any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
}

/// The innermost function around a line, else the innermost item. Formatted code shows it by its indentation.
fn around(lines: &[&str], at: usize) -> Option<String> {
    let mut depth = indentation(lines[at]);
    let mut innermost = None;
    for line in lines[..at].iter().rev() {
        // The last line of a signature of several lines is indented as its first one.
        let ends_signature = line.trim_start().starts_with([')', '{']) || line.trim() == "where";
        if line.trim().is_empty() || ends_signature || indentation(line) >= depth {
            continue;
        }
        depth = indentation(line);
        match item(line.trim()) {
            Some(("fn", name)) => return Some(name),
            Some((_, name)) if innermost.is_none() => innermost = Some(name),
            _ => {}
        }
    }
    innermost
}

/// Attributes and comments, which stand between an annotation and its item.
fn is_preamble(line: &str) -> bool {
    line.starts_with("//") || line.starts_with("#[")
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The kind and the name of the item that a line opens.
fn item(line: &str) -> Option<(&'static str, String)> {
    const KINDS: [&str; 9] = [
        "fn", "struct", "enum", "trait", "impl", "type", "const", "static", "mod",
    ];
    const BEFORE: [&str; 6] = ["pub", "async", "unsafe", "const", "default", "extern"];
    let mut words = line.split(' ').skip_while(|word| {
        // `pub(super)` and `pub(in crate::x)` as well as `pub`.
        let word = word.split('(').next().unwrap_or(word);
        BEFORE.contains(&word) && !line.starts_with("const ")
            || word.contains("::") && line.starts_with("pub(in")
    });
    let mut kind = words.next()?;
    let mut name = words.next()?;
    if (kind, name) == ("const", "fn") {
        (kind, name) = ("fn", words.next()?);
    }
    let kind = KINDS
        .into_iter()
        .find(|known| *known == kind.split('<').next().unwrap_or(kind))?;
    let end = name
        .find(|character: char| !character.is_alphanumeric() && character != '_')
        .unwrap_or(name.len());
    (end > 0).then(|| (kind, name[..end].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! A file.
impl Path {
    //= rfc9260 6.1-1, 6.1-2
    /// Sends.
    #[must_use]
    pub(super) const fn send(
        &self,
    ) -> u32 {
        if self.full {
            //= rfc9260 6.1-3
            // Why.
            return 0;
        }
        1
    }
}

#[cfg(test)]
mod tests {
    //= rfc9260 6.1-1
    #[test]
    fn a_full_path_sends_nothing() {}
}
";

    fn read(path: &str, text: &str) -> (Vec<Annotation>, Vec<Finding>) {
        of(&Source {
            path: path.to_owned(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn annotations_name_the_item_below_or_around_them() {
        let (annotations, findings) = read("crates/proto/src/path.rs", CODE);
        let seen: Vec<(&str, &str, bool)> = annotations
            .iter()
            .map(|annotation| {
                (
                    annotation.id.as_str(),
                    annotation.item.as_str(),
                    annotation.is_test,
                )
            })
            .collect();
        let expected = [
            ("6.1-1", "send", false),
            ("6.1-2", "send", false),
            ("6.1-3", "send", false),
            ("6.1-1", "a_full_path_sends_nothing", true),
        ];
        assert_eq!(seen, expected);
        assert_eq!(findings, []);
    }

    #[test]
    fn a_test_annotation_without_a_test_below_is_found() {
        for text in [
            "//= rfc9260 6.1-1\nfn helper() {}\n",
            "//= rfc9260 6.1-1\n\n#[test]\nfn a() {}\n",
        ] {
            assert_eq!(read("crates/tests/src/a.rs", text).1.len(), 1, "{text}");
        }
    }

    #[test]
    fn an_annotation_of_another_form_is_found() {
        for text in [
            "//= rfc 9260 6.1-1\nfn a() {}",
            "//= rfc9260 6.1-1 6.1-2\nfn a() {}",
            "//= 6.1\nfn a() {}",
        ] {
            assert_eq!(read("crates/proto/src/a.rs", text).1.len(), 1, "{text}");
        }
    }

    #[test]
    fn items_are_read_with_what_stands_before_them() {
        let cases = [
            ("pub(in crate::path) async fn send<'a>(", Some(("fn", "send"))),
            ("const MAX: u8 = 1;", Some(("const", "MAX"))),
            ("pub const fn max() -> u8 {", Some(("fn", "max"))),
            ("let send = 1;", None),
        ];
        for (line, expected) in cases {
            let seen = item(line);
            assert_eq!(
                seen.as_ref().map(|(kind, name)| (*kind, name.as_str())),
                expected,
                "{line}"
            );
        }
    }
}
