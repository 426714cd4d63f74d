//! Tests of the drawn chart. Does a drawing show exactly the content of its chart, escaped?

use crate::{Axis, Chart, Colour, Marker, Point, Scale, Series, Stroke, Style};

fn chart() -> Chart {
    let point = |x: f64, y: f64| Point {
        x,
        y,
        range: Some((y * 0.9, y * 1.1)),
        tooltip: format!("x {x}: <b>{y}</b> & more"),
    };
    let series = |slot: usize, factor: f64| Series {
        name: format!("line \"{slot}\" <i>"),
        style: Style {
            colour: Colour::Slot(slot),
            stroke: Stroke::Solid,
            marker: Some(Marker::ALL[slot % 6]),
            hollow: false,
            wide: slot == 0,
        },
        points: [10.0, 20.0, 40.0].map(|x| point(x, x * factor)).to_vec(),
    };
    Chart {
        title: "a & b".into(),
        heading: String::new(),
        x: Axis {
            label: "rate, Mbit/s".into(),
            scale: Scale::Linear,
        },
        y: Axis {
            label: "goodput, Mbit/s".into(),
            scale: Scale::Linear,
        },
        series: vec![series(0, 1.0), series(1, 2.0)],
        has_legend: true,
    }
}

#[test]
fn svg_text_is_escaped() {
    let svg = chart().draw().svg();
    for foreign in ["<b>", "<i>", "& more", "a & b"] {
        assert!(!svg.contains(foreign), "{foreign}");
    }
    assert!(svg.contains("x 10: &lt;b&gt;10&lt;/b&gt; &amp; more"));
}

#[test]
fn svg_has_each_point_and_each_legend_entry() {
    let svg = chart().draw().svg();
    assert_eq!(svg.matches("class=\"point\"").count(), 6);
    assert_eq!(svg.matches("class=\"entry\"").count(), 2);
    assert!(
        !svg.contains("href") && !svg.contains("url("),
        "nothing from outside"
    );
}

#[test]
fn drawing_a_chart_is_reproducible() {
    let [one, other] = [(); 2].map(|()| chart().draw());
    assert_eq!(one.svg(), other.svg());
    assert_eq!(one.png(2.0).unwrap(), other.png(2.0).unwrap());
}

#[test]
fn png_contains_the_colours_of_its_lines() {
    let bytes = chart().draw().png(2.0).unwrap();
    let pixels = tiny_skia::Pixmap::decode_png(&bytes).unwrap();
    assert_eq!(pixels.width(), 1760);
    for shade in &crate::COLOURS[..2] {
        let [red, green, blue] = shade.light;
        let same = pixels
            .pixels()
            .iter()
            .filter(|pixel| (pixel.red(), pixel.green(), pixel.blue()) == (red, green, blue));
        assert!(same.count() > 200, "{shade:?}");
    }
}

#[test]
fn empty_and_categorical_charts_can_be_drawn() {
    let mut chart = chart();
    chart.x.scale = Scale::Words(vec!["round robin".into(), "a name of several words".into()]);
    assert!(chart.draw().svg().contains("round robin"));
    chart.series.clear();
    for scale in [Scale::Linear, Scale::Log, Scale::Words(Vec::new())] {
        chart.x.scale = scale;
        assert!(!chart.draw().svg().contains("NaN"));
        assert!(!chart.thumbnail().svg().contains("NaN"));
    }
}

#[test]
fn zero_is_left_out_of_a_logarithmic_scale() {
    let mut chart = chart();
    chart.y.scale = Scale::Log;
    chart.series[0].points[0].y = 0.0;
    chart.series[0].points[1].range = Some((0.0, 30.0));
    let svg = chart.draw().svg();
    assert_eq!(svg.matches("class=\"point\"").count(), 5);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn points_of_one_category_are_drawn_side_by_side() {
    let mut chart = chart();
    chart.x.scale = Scale::Words(vec!["one".into(), "two".into()]);
    for series in &mut chart.series {
        series.points = vec![Point {
            x: 0.0,
            y: 5.0,
            range: None,
            tooltip: "here".into(),
        }];
    }
    let svg = chart.draw().svg();
    let places = svg.split("class=\"f-clear\" cx=\"").skip(1);
    let places: Vec<&str> = places.filter_map(|rest| rest.split('"').next()).collect();
    assert!(places.len() == 2 && places[0] != places[1], "{places:?}");
}

/// As of a time series: a marker at each would hide the line.
#[test]
fn line_of_many_points_has_few_markers_at_places_of_its_own() {
    let mut chart = chart();
    for series in &mut chart.series {
        series.style.marker = Some(Marker::Circle);
        series.points = (0..1_000)
            .map(|x| Point {
                x: f64::from(x),
                y: 5.0,
                range: None,
                tooltip: String::new(),
            })
            .collect();
    }
    let svg = chart.draw().svg();
    let places = svg.split("class=\"f-clear\" cx=\"").skip(1);
    let mut places: Vec<&str> = places.filter_map(|rest| rest.split('"').next()).collect();
    assert!((6..24).contains(&places.len()), "{places:?}");
    let all = places.len();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), all);
}

/// Names as long as plans allow, without a space.
#[test]
fn legend_of_long_names_is_within_the_drawing() {
    let mut chart = chart();
    let template = chart.series[0].clone();
    let named = |number: usize| Series {
        name: format!("{number}{}, 10\u{a0}Mbit/s", "-a-word-that-has-no-end".repeat(8)),
        ..template.clone()
    };
    chart.series = (0..10).map(named).collect();
    let drawing = chart.draw();
    let (width, height) = (drawing.width, drawing.height);
    let svg = drawing.svg();
    let font = crate::font::Font::new(12.0, false);
    let texts = svg.split("<text ").skip(1).map(|rest| {
        let part = |name: &str, end: char| rest.split_once(name).unwrap().1.split_once(end).unwrap().0;
        let at = |name: &str| part(name, '"').parse::<f32>().unwrap();
        let is_right = !rest.split_once('>').unwrap().0.contains("anchor");
        (at(" x=\""), at(" y=\""), is_right, part(">", '<'))
    });
    for (x, y, is_right, said) in texts.filter(|(_, _, is_right, _)| *is_right) {
        assert!(
            is_right && x + font.length(said) * 1.2 <= width && y <= height,
            "{said} at {x}, {y}"
        );
    }
    // The data has its place beside the legend.
    assert!(svg.matches("class=\"point\"").count() == 30 && !svg.contains("NaN"));
}
