//! Table of allowed dependencies between crates. ARCHITECTURE.md draws it.

/// A crate and the crates of this workspace that it may name in its manifest.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its name in the manifest.
    pub(crate) name: &'static str,
    /// How high it stands: arrows point down only, so there is no cycle, not even by way of a test.
    pub(crate) level: u8,
    /// What it may use.
    pub(crate) uses: Uses,
}

/// What a crate may use.
#[derive(Debug)]
pub(crate) enum Uses {
    /// These crates.
    Only(&'static [&'static str]),
    /// Every crate of a lower level.
    EverythingBelow,
}

const fn rule(level: u8, name: &'static str, uses: &'static [&'static str]) -> Rule {
    Rule {
        name,
        level,
        uses: Uses::Only(uses),
    }
}

/// The crates that exist or are planned, from the ground up.
pub(crate) const CRATES: &[Rule] = &[
    rule(1, "anabranch-types", &[]),
    rule(1, "anabranch-chart", &[]),
    rule(2, "anabranch-wire", &["anabranch-types"]),
    rule(2, "anabranch-policy", &["anabranch-types"]),
    rule(2, "anabranch-netsim", &["anabranch-types"]),
    rule(2, "anabranch-io", &["anabranch-types"]),
    rule(2, "anabranch-secure", &["anabranch-types"]),
    rule(2, "anabranch-datachannel", &["anabranch-types"]),
    rule(2, "anabranch-dtls", &["anabranch-types"]),
    rule(
        3,
        "anabranch-trace",
        &[
            "anabranch-types",
            "anabranch-wire",
            "anabranch-policy",
            "anabranch-secure",
        ],
    ),
    rule(
        4,
        "anabranch-proto",
        &["anabranch-types", "anabranch-wire", "anabranch-policy"],
    ),
    rule(4, "anabranch-tcp", &["anabranch-types", "anabranch-policy"]),
    rule(
        5,
        "anabranch",
        &[
            "anabranch-types",
            "anabranch-policy",
            "anabranch-proto",
            "anabranch-io",
            "anabranch-secure",
            "anabranch-datachannel",
            "anabranch-dtls",
        ],
    ),
    rule(
        5,
        "anabranch-sim",
        &[
            "anabranch-types",
            "anabranch-wire",
            "anabranch-policy",
            "anabranch-proto",
            "anabranch-tcp",
            "anabranch-netsim",
        ],
    ),
    rule(
        5,
        "anabranch-emu",
        &["anabranch-types", "anabranch-netsim", "anabranch-io"],
    ),
    rule(
        6,
        "anabranch-lab",
        &[
            "anabranch-types",
            "anabranch-chart",
            "anabranch-netsim",
            "anabranch-policy",
            "anabranch-sim",
            "anabranch-trace",
            "anabranch-emu",
            "anabranch",
        ],
    ),
    rule(6, "anabranch-tunnel", &["anabranch-types", "anabranch"]),
    rule(6, "anabranch-dashboard", &["anabranch"]),
    rule(6, "anabranch-capi", &["anabranch-types", "anabranch"]),
    rule(
        7,
        "anabranch-py",
        &[
            "anabranch-types",
            "anabranch-sim",
            "anabranch-lab",
            "anabranch-trace",
            "anabranch",
        ],
    ),
    rule(
        7,
        "anabranch-cli",
        &[
            "anabranch-types",
            "anabranch-sim",
            "anabranch-emu",
            "anabranch-lab",
            "anabranch-tunnel",
            "anabranch-dashboard",
            "anabranch-capi",
            "anabranch-trace",
            "anabranch",
        ],
    ),
    Rule {
        name: "anabranch-tests",
        level: 8,
        uses: Uses::EverythingBelow,
    },
    Rule {
        name: "anabranch-bench",
        level: 8,
        uses: Uses::EverythingBelow,
    },
    Rule {
        name: "anabranch-interop",
        level: 8,
        uses: Uses::EverythingBelow,
    },
    rule(8, "xtask", &[]),
];
