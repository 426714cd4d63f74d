//! Tests of pages: contents, escaping, files.

use super::{Entry, charts, index, page, write};
use crate::summary::tests::summary;
use crate::summary::{PanelSeries, Plot, PlotSeries, ResultSummary, SeriesOrigin, Size};

fn page_of(summary: &ResultSummary) -> String {
    page::page(summary, &charts::of(summary))
}

#[test]
fn page_has_figure_checks_and_size() {
    let full = page_of(&summary());
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
    let quick = page_of(&ResultSummary {
        size: Size::Quick,
        ..summary()
    });
    assert!(quick.contains("not the size of the paper") && quick.contains("toml --quick"));
}

#[test]
fn page_mentions_points_with_fewer_runs() {
    let mut summary = summary();
    assert!(!page_of(&summary).contains("have fewer values"));
    let series = summary.panels[0]
        .series
        .iter_mut()
        .find(|series| series.name == "split");
    series.unwrap().points[0].count = 2;
    assert!(page_of(&summary).contains("have fewer values"));
}

#[test]
fn outdated_results_are_marked_on_every_page() {
    let pages = |summary: &ResultSummary| {
        [
            page_of(summary),
            index(&[Entry::Measured(Box::new(summary.clone()))]),
        ]
    };
    let outdated = ResultSummary {
        is_outdated: true,
        ..summary()
    };
    for (old, current) in pages(&outdated).iter().zip(pages(&summary())) {
        assert!(old.contains("earlier plan") && !current.contains("earlier plan"));
    }
    assert!(page_of(&outdated).contains("The plan has changed since these results"));
}

/// Such as the values of a paper for one network.
#[test]
fn reference_for_one_point_is_not_drawn_elsewhere() {
    let mut summary = summary();
    let all_series = &mut summary.panels[0].series;
    let template = all_series
        .iter()
        .find(|series| !series.coordinates.is_empty())
        .unwrap()
        .clone();
    for number in 0..12 {
        let name = format!("paper {number}");
        let origin = SeriesOrigin::Paper;
        all_series.push(PanelSeries {
            name,
            origin,
            ..template.clone()
        });
    }
    let charts = charts::of(&summary);
    let with_paper = charts
        .all()
        .filter(|chart| chart.draw().svg().contains("paper 3"));
    assert_eq!(with_paper.count(), 1);
}

#[test]
fn all_texts_are_escaped_and_nothing_is_fetched() {
    let mut summary = summary();
    let hostile = "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'&";
    for text in [
        &mut summary.title,
        &mut summary.claim,
        &mut summary.source,
        &mut summary.cause,
    ] {
        *text = hostile.to_owned();
    }
    summary.findings[0].claim = hostile.to_owned();
    summary.findings[0].found = hostile.to_owned();
    summary.changes = vec![hostile.to_owned()];
    summary.x.label = hostile.to_owned();
    summary.panels[0].label = hostile.to_owned();
    summary.panels[0].series[0].name = hostile.to_owned();
    summary.settings.changed[0].key = hostile.to_owned();
    let entry = Entry::Measured(Box::new(summary.clone()));
    for page in [page_of(&summary), index(&[entry])] {
        assert_eq!(page.matches("<script>").count(), 1, "only our own");
        for fetch in ["<img", "<link", "<iframe", "url(", "@import"] {
            assert!(!page.contains(fetch), "{fetch}");
        }
        let names = page.matches("http://www.w3.org/2000/svg").count();
        assert_eq!(page.matches("http").count(), names + 1, "and `http-equiv`");
    }
}

#[test]
fn figures_are_written_as_files() {
    let folder = tempfile::tempdir().unwrap();
    let page = write(&summary(), folder.path()).unwrap();
    assert_eq!(page.file_name().unwrap(), "two.html");
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let figures = (1..=4).flat_map(|number| [format!("two-{number}.png"), format!("two-{number}.svg")]);
    let expected: Vec<String> = figures.chain(["two.html".to_owned()]).collect();
    assert_eq!(names, expected, "the figure and three plots");
}

#[test]
fn equal_references_are_drawn_once() {
    let charts = charts::of(&summary());
    let names: Vec<&str> = charts.panels[0][0]
        .series
        .iter()
        .map(|series| series.name.as_str())
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
        .series
        .iter()
        .map(|series| format!("{:?}", series.style))
        .collect();
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), 5, "all styles differ");
}

#[test]
fn too_many_series_are_split_into_charts() {
    let mut summary = summary();
    let all_series = summary.panels[0].series.clone();
    for number in 0..4 {
        let renamed = all_series[..2].iter().map(|series| PanelSeries {
            name: format!("other {number}"),
            ..series.clone()
        });
        summary.panels[0].series.extend(renamed);
    }
    let charts = charts::of(&summary);
    let headings: Vec<&str> = charts.panels[0]
        .iter()
        .map(|chart| chart.heading.as_str())
        .collect();
    assert_eq!(headings, ["delay 5 ms", "delay 50 ms"]);
    assert_eq!(charts.panels[0][0].series.len(), 7);
}

/// Strokes, markers and their fills of a chart's series, each once.
fn looks(chart: &anabranch_chart::Chart) -> usize {
    let look = |series: &anabranch_chart::Series| {
        let style = &series.style;
        format!("{:?} {:?} {}", style.stroke, style.marker, style.hollow)
    };
    let looks: std::collections::BTreeSet<String> = chart.series.iter().map(look).collect();
    looks.len()
}

#[test]
fn eight_lines_differ_in_black_and_white() {
    // As many variants, or two of them at as many places as make eight.
    for (variants, places) in [(8, 1), (4, 2), (2, 4), (1, 8)] {
        for is_of_words in [false, true] {
            let mut summary = summary();
            if is_of_words {
                summary.x.words = vec!["one".into(), "two".into()];
            }
            let all_series = &mut summary.panels[0].series;
            let template = all_series[0].clone();
            let series = (0..8).map(|number| PanelSeries {
                name: format!("variant {}", number % variants),
                coordinates: if places == 1 {
                    Vec::new()
                } else {
                    vec![format!("place {}", number / variants)]
                },
                ..template.clone()
            });
            *all_series = series.collect();
            let charts = charts::of(&summary);
            let chart = &charts.panels[0][0];
            assert_eq!(
                (chart.series.len(), looks(chart)),
                (8, 8),
                "{variants} variants, words {is_of_words}"
            );
        }
    }
}

#[test]
fn eight_lines_of_a_plot_differ_in_black_and_white() {
    let series = |number: usize| PlotSeries {
        name: format!("path {number}"),
        points: vec![(0.0, 1.0), (1.0, 2.0)],
    };
    let plot = Plot {
        title: "queues".into(),
        labels: ("time, s".into(), "bytes".into()),
        series: (0..8).map(series).collect(),
    };
    let summary = ResultSummary {
        plots: vec![plot],
        ..summary()
    };
    assert_eq!(looks(&charts::of(&summary).plots[0]), 8);
}

#[test]
fn index_lists_experiments_without_results() {
    let open = Entry::Open {
        plan: "later".into(),
        title: "Later".into(),
        source: String::new(),
    };
    let page = index(&[Entry::Measured(Box::new(summary())), open]);
    assert!(
        page.contains("2 claims: 1 reproduced, 0 partly, 0 contradicted, 0 undecided, 1 not measured."),
        "{page}"
    );
}
