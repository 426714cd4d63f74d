//! Page of the validation, as Markdown.

use core::fmt::Write as _;

use super::{Agreement, Law, Size};

const HEAD: &str = "\
# Validation of the simulator

`make validate` generates this page: it compares the simulator with closed forms and published rules that do not come from
it; one of them also with a correction of our own. Each law is examined in several settings. For each setting, the 95 % confidence interval of
*measured / law* is compared with a margin. The setting *agrees* if the whole interval is within the margin, *differs* if no value of it is, and is *undecided* otherwise. Margins were chosen before the first run: 5 % for queues, 10 % for
connections, whose laws are approximations. `cargo test -p anabranch-lab --example validate` runs all of this in a small size.

Drops and queues of RED and CoDel are also compared with those of ns-3 (`crates/netsim/src/link/queue/ns3.rs`).
";

pub(crate) fn page(laws: &[Law], size: Size) -> String {
    let mut page = HEAD.to_owned();
    // Writing into a string cannot fail.
    let _ = writeln!(
        page,
        "\nEach setting has {} runs with different seeds: {},000 packets for queues, and {} simulated seconds, after a minute of warm-up, for \
         connections.\n",
        size.seeds,
        size.packets / 1_000,
        size.seconds
    );
    summary(laws, &mut page);
    for law in laws {
        section(law, &mut page);
    }
    page
}

fn summary(laws: &[Law], page: &mut String) {
    page.push_str("| law | settings | agree | undecided | differ |\n|---|---|---|---|---|\n");
    for law in laws {
        let count = |wanted| {
            let cells = law.cells.iter();
            cells.filter(|cell| cell.agreement(law.margin) == wanted).count()
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            law.name,
            law.cells.len(),
            count(Agreement::Agrees),
            count(Agreement::Undecided),
            count(Agreement::Differs)
        );
    }
}

fn section(law: &Law, page: &mut String) {
    let _ = write!(
        page,
        "\n## {}\n\n{}\n\n| setting | {}, law | measured | measured / law | within {:.0} % |\n|---|---|---|---|---|\n",
        law.name,
        law.text,
        law.quantity,
        law.margin * 100.0
    );
    for cell in &law.cells {
        let ratio = cell.ratio();
        let agreement = match cell.agreement(law.margin) {
            Agreement::Agrees => "agrees",
            Agreement::Differs => "differs",
            Agreement::Undecided => "undecided",
        };
        let _ = writeln!(
            page,
            "| {} | {} | {} | {:.3} [{:.3}, {:.3}] | {agreement} |",
            cell.setting,
            number(cell.expected),
            number(cell.mean()),
            cell.mean() / cell.expected,
            ratio.low,
            ratio.high
        );
    }
}

/// Four significant digits.
fn number(value: f64) -> String {
    let digits = value.abs().max(1e-9).log10().floor() as i32;
    let decimals = usize::try_from(3 - digits).unwrap_or(0);
    format!("{value:.decimals$}")
}
