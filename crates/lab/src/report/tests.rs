//! Does a page say what an account has, with every text escaped and nothing from outside?

use super::{Entry, charts, index, page, write};
use crate::account::tests::account;
use crate::account::{Account, LineOrigin, PanelLine, Size};

fn page_of(account: &Account) -> String {
    page::page(account, &charts::of(account))
}

#[test]
fn a_page_has_the_figure_the_checks_and_the_size() {
    let full = page_of(&account());
    for part in [
        "<svg",
        "at most the ideal",
        "nothing to add",
        "full size",
        "1, 2, 3",
        "Median of 3 repetitions",
    ] {
        assert!(full.contains(part), "{part}");
    }
    assert!(!full.contains("quick size"));
    let quick = page_of(&Account {
        size: Size::Quick,
        ..account()
    });
    assert!(quick.contains("not that of the paper") && quick.contains("toml --quick"));
}

#[test]
fn a_page_says_where_a_mean_is_that_of_fewer_runs() {
    let mut account = account();
    assert!(!page_of(&account).contains("stand for fewer"));
    let line = account.panels[0]
        .lines
        .iter_mut()
        .find(|line| line.name == "split");
    line.unwrap().spots[0].count = 2;
    assert!(page_of(&account).contains("stand for fewer"));
}

#[test]
fn results_of_an_earlier_form_of_their_plan_say_so_on_every_page() {
    let pages = |account: &Account| {
        [
            page_of(account),
            index(&[Entry::Measured(Box::new(account.clone()))]),
        ]
    };
    let outdated = Account {
        is_outdated: true,
        ..account()
    };
    for (old, current) in pages(&outdated).iter().zip(pages(&account())) {
        assert!(old.contains("of an earlier plan") && !current.contains("of an earlier plan"));
    }
    assert!(page_of(&outdated).contains("The plan was changed after these results"));
}

/// As points of a paper that are for one network.
#[test]
fn a_reference_for_one_place_is_not_drawn_at_the_others() {
    let mut account = account();
    let lines = &mut account.panels[0].lines;
    let there = lines.iter().find(|line| !line.place.is_empty()).unwrap().clone();
    for number in 0..12 {
        let name = format!("paper {number}");
        let origin = LineOrigin::Paper;
        lines.push(PanelLine {
            name,
            origin,
            ..there.clone()
        });
    }
    let charts = charts::of(&account);
    let with_paper = charts
        .all()
        .filter(|chart| chart.draw().svg().contains("paper 3"));
    assert_eq!(with_paper.count(), 1);
}

#[test]
fn every_text_is_escaped_and_nothing_is_fetched() {
    let mut account = account();
    let hostile = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    for text in [
        &mut account.title,
        &mut account.claim,
        &mut account.source,
        &mut account.cause,
    ] {
        *text = hostile.to_owned();
    }
    account.findings[0].claim = hostile.to_owned();
    account.findings[0].found = hostile.to_owned();
    account.changes = vec![hostile.to_owned()];
    account.x.label = hostile.to_owned();
    account.panels[0].label = hostile.to_owned();
    account.panels[0].lines[0].name = hostile.to_owned();
    account.settings.changed[0].key = hostile.to_owned();
    let entry = Entry::Measured(Box::new(account.clone()));
    for page in [page_of(&account), index(&[entry])] {
        assert_eq!(page.matches("<script>").count(), 1, "only our own");
        for fetch in ["<img", "<link", "<iframe", "url(", "@import"] {
            assert!(!page.contains(fetch), "{fetch}");
        }
        let names = page.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(page.matches("http").count(), names + 1, "and `http-equiv`");
    }
}

#[test]
fn figures_are_files_beside_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = write(&account(), folder.path()).unwrap();
    assert_eq!(page.file_name().unwrap(), "two.html");
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let figures = (1..=4).flat_map(|number| [format!("two-{number}.png"), format!("two-{number}.svg")]);
    let expected: Vec<String> = figures.chain(["two.html".to_owned()]).collect();
    assert_eq!(names, expected, "the figure and three pictures");
}

#[test]
fn a_reference_that_is_the_same_everywhere_is_drawn_once() {
    let charts = charts::of(&account());
    let names: Vec<&str> = charts.panels[0][0]
        .lines
        .iter()
        .map(|line| line.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "plain, delay\u{a0}5\u{a0}ms",
            "plain, delay\u{a0}50\u{a0}ms",
            "split, delay\u{a0}5\u{a0}ms",
            "split, delay\u{a0}50\u{a0}ms",
            "ideal"
        ]
    );
    let mut looks: Vec<String> = charts.panels[0][0]
        .lines
        .iter()
        .map(|line| format!("{:?}", line.look))
        .collect();
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), 5, "all look different");
}

#[test]
fn too_many_lines_become_a_chart_for_each_place() {
    let mut account = account();
    let lines = account.panels[0].lines.clone();
    for number in 0..4 {
        let renamed = lines[..2].iter().map(|line| PanelLine {
            name: format!("other {number}"),
            ..line.clone()
        });
        account.panels[0].lines.extend(renamed);
    }
    let charts = charts::of(&account);
    let headings: Vec<&str> = charts.panels[0]
        .iter()
        .map(|chart| chart.heading.as_str())
        .collect();
    assert_eq!(headings, ["delay 5 ms", "delay 50 ms"]);
    assert_eq!(charts.panels[0][0].lines.len(), 7);
}

#[test]
fn what_was_not_measured_is_in_the_index_too() {
    let open = Entry::Open {
        plan: "later".into(),
        title: "Later".into(),
        source: String::new(),
    };
    let page = index(&[Entry::Measured(Box::new(account())), open]);
    assert!(
        page.contains("2 claims: 1 reproduced, 0 partly, 0 contradicted, 1 not measured."),
        "{page}"
    );
}
