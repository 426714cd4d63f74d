//! Report tests in a browser. Does a browser draw what a report shows? Chromium opens the pages, as root without its sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::browser::chromium;
use crate::harness::run;

const PLAN: &str = r#"
title = "Two paths & <one>"
claim = "two paths are faster than one"
repetitions = 2

[time]
measure = "1s"

[paths.a]
rate = "10Mbit"
delay = "5ms"

[paths.b]
rate = "10Mbit"
delay = "5ms"

[apps.sender]
kind = "bulk"
message = 1400

[record]
time-series = "10ms"

[sweep.b]
sets = "paths.b.rate"
values = [10, 20]
unit = "Mbit"

[[variant]]
name = "both"

[[reference]]
name = "paper"
points = [[10, 18.5], [20, 28.0]]

[figure]
x = "b"
y = ["goodput", "delay.mean"]

[[plot]]
kind = "time-series"
y = "cwnd"
where.b = 20

[[check]]
claim = "two paths are nearly as fast as the paper says"
kind = "ratio"
series = "both"
to = "paper"
at-least = 0.9

[quick]
repetitions = 1
"#;

/// Opens `page` and gives back what Chromium prints.
fn open(chromium: &str, page: &Path, option: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ])
        .args(["--window-size=1080,1400", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(option)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let script_error = said.lines().find(|line| line.contains("CONSOLE"));
    assert_eq!(script_error, None);
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the plan and gives back the page of its report.
fn report(folder: &TempDir, size: &[&str]) -> PathBuf {
    let inside = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(inside("two.toml"), PLAN).unwrap();
    let (plan, cache, out) = (inside("two.toml"), inside("cache"), inside("out"));
    let mut arguments = vec!["lab", "run", &plan, "--cache", &cache, "--out", &out];
    arguments.extend(size);
    let output = run(&arguments);
    assert!(output.status.success(), "{output:?}");
    let page = folder.path().join("out").join("two.html");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.contains(page.to_str().unwrap()),
        "the run says where the report is: {said}"
    );
    page
}

/// How many pixels of a picture have this colour.
fn count(file: &Path, colour: [u8; 3]) -> usize {
    let pixels = tiny_skia::Pixmap::load_png(file).unwrap();
    let of = |pixel: &tiny_skia::PremultipliedColorU8| [pixel.red(), pixel.green(), pixel.blue()];
    pixels.pixels().iter().filter(|pixel| of(pixel) == colour).count()
}

const BLUE: [u8; 3] = [0x00, 0x72, 0xb2];

#[test]
fn browser_draws_the_figures_of_a_report() {
    let Some(chromium) = chromium() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let page = report(&folder, &[]);
    let document = open(chromium, &page, "--dump-dom");
    // Two lines with two spots in each of two panels; the script has run and found them.
    assert!(document.contains("data-ready=\"8\""), "{document}");
    assert_eq!(
        document.matches("<svg").count(),
        3,
        "two panels and the window over time"
    );
    assert!(document.contains("Two paths &amp; &lt;one&gt;") && document.contains("reproduced"));
    assert!(!document.contains("quick size"));
    let shot = folder.path().join("shot.png");
    open(chromium, &page, &format!("--screenshot={}", shot.display()));
    assert!(
        count(&shot, BLUE) > 1_000,
        "the line is drawn: {}",
        count(&shot, BLUE)
    );
    assert!(count(&page.with_file_name("two-1.png"), BLUE) > 1_000);
}

#[test]
fn browser_shows_the_quick_size() {
    let Some(chromium) = chromium() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let document = open(chromium, &report(&folder, &["--quick"]), "--dump-dom");
    assert!(document.contains("quick size") && document.contains("not the size of the paper"));
}

#[test]
fn report_index_lists_unmeasured_experiments() {
    let folder = tempfile::tempdir().unwrap();
    report(&folder, &[]);
    let inside = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(inside("later.toml"), PLAN.replace("Two paths", "Later")).unwrap();
    let arguments = [
        "lab",
        "report",
        &inside("out"),
        &inside("later.toml"),
        "--out",
        &inside("pages"),
        "--results",
        &inside("no"),
    ];
    let output = run(&arguments);
    assert!(output.status.success(), "{output:?}");
    let index = std::fs::read_to_string(folder.path().join("pages/index.html")).unwrap();
    assert!(
        index.contains("href=\"two.html\"") && index.contains("not measured"),
        "{index}"
    );
    assert!(folder.path().join("pages/two.html").is_file());
    if let Some(chromium) = chromium() {
        let shot = folder.path().join("shot.png");
        let index = folder.path().join("pages/index.html");
        open(chromium, &index, &format!("--screenshot={}", shot.display()));
        assert!(count(&shot, BLUE) > 50, "the thumbnail is drawn");
    }
}

#[test]
fn quick_summary_does_not_replace_a_full_one() {
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let kept = || std::fs::read_to_string(folder.path().join("results/two.json")).unwrap();
    let keep = inside("results");
    report(&folder, &["--quick", "--keep", &keep]);
    assert!(kept().contains("\"size\": \"quick\""));
    let claims =
        || String::from_utf8(run(&["lab", "claims", folder.path().to_str().unwrap()]).stdout).unwrap();
    assert!(
        claims().contains("| undecided (1 of 1 checks undecided) | **quick**, not the paper's |"),
        "{}",
        claims()
    );
    report(&folder, &["--keep", &keep]);
    assert!(kept().contains("\"size\": \"full\""));
    report(&folder, &["--quick", "--keep", &keep]);
    assert!(kept().contains("\"size\": \"full\""));
    assert!(claims().contains("| reproduced | full |"), "{}", claims());
    let stricter = PLAN.replace("at-least = 0.9", "at-least = 1.5");
    std::fs::write(folder.path().join("two.toml"), stricter).unwrap();
    assert!(
        claims().contains("| contradicted | full |"),
        "results are judged by the checks of the plan: {}",
        claims()
    );
    let changed = PLAN.replacen("measure = \"1s\"", "measure = \"2s\"", 1);
    std::fs::write(folder.path().join("two.toml"), changed).unwrap();
    assert!(
        claims().contains("| full; the plan has changed since; defaults changed since: time.measure |"),
        "{}",
        claims()
    );
}
