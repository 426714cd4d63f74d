//! Containers keyed by path. Does per-path state have one home? In the core, only `path/` and the scoreboard's lists key a container by
//! `PathId`; everywhere else a path is an argument.

use crate::finding::Finding;
use crate::sources::Source;

const CORE: &str = "crates/proto/src/";
const HOMES: [&str; 3] = ["path.rs", "path/", "send/scoreboard/lists.rs"];

/// Containers keyed by a path, as they are written without spaces.
const KEYED: [&str; 5] = [
    "BTreeMap<PathId",
    "BTreeSet<PathId",
    "HashMap<PathId",
    "PathMap<",
    "Vec<(PathId",
];

/// Finds the containers of the core that are keyed by `PathId` outside their homes.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    sources
        .iter()
        .filter(|source| is_guarded(&source.path))
        .flat_map(keyed_lines)
        .collect()
}

fn is_guarded(path: &str) -> bool {
    path.strip_prefix(CORE).is_some_and(|inner| {
        let is_test = inner.ends_with("tests.rs") || inner.contains("/tests/");
        !is_test && !HOMES.iter().any(|home| inner.starts_with(home))
    })
}

fn keyed_lines(source: &Source) -> Vec<Finding> {
    let is_keyed = |line: &str| {
        let dense: String = line.split_whitespace().collect();
        !dense.starts_with("//") && KEYED.iter().any(|pattern| dense.contains(pattern))
    };
    let finding = |(index, _): (usize, &str)| Finding {
        at: format!("{}:{}", source.path, index + 1),
        what: "a container keyed by PathId; per-path state lives in path/ (ARCHITECTURE.md)".to_owned(),
    };
    source
        .text
        .lines()
        .enumerate()
        .filter(|&(_, line)| is_keyed(line))
        .map(finding)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<String> {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&[source]).into_iter().map(|finding| finding.at).collect()
    }

    #[test]
    fn map_by_path_elsewhere_is_found() {
        let text = "//! Who?\nstruct Sender {\n    lost: BTreeMap<PathId, u32>,\n    sent: Vec<( PathId, Tsn)>,\n}\n";
        let path = "crates/proto/src/send/retransmit.rs";
        assert_eq!(found_in(path, text), [format!("{path}:3"), format!("{path}:4")]);
    }

    #[test]
    fn allowed_files_and_other_crates_may_key_by_path() {
        let text = "struct Lists { by_path: PathMap<List> }\n";
        assert!(found_in("crates/proto/src/send/scoreboard/lists.rs", text).is_empty());
        assert!(found_in("crates/proto/src/path/set.rs", text).is_empty());
        assert!(found_in("crates/policy/src/congestion/lia.rs", text).is_empty());
    }

    #[test]
    fn comment_is_not_a_container() {
        assert!(
            found_in(
                "crates/proto/src/recv/tracker.rs",
                "    // A PathMap<Gap> would be wrong here.\n"
            )
            .is_empty()
        );
    }
}
