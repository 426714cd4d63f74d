//! Theme of the live view in a terminal. Which colours are there, of the 16 that the terminal's user has chosen?
//!
//! Text has the terminal's own colour, which can be read on its background. Colours only repeat what words say.

use anabranch_dashboard::{PathSample, Severity};
use ratatui::style::{Color, Modifier, Style};

/// Of the charts of paths.
const PATHS: [Color; 6] = [
    Color::Cyan,
    Color::Magenta,
    Color::Green,
    Color::Blue,
    Color::Yellow,
    Color::Red,
];

/// Colours, or none (`NO_COLOR`).
#[derive(Clone, Copy, Debug)]
pub(in crate::tui) struct Theme {
    has_colors: bool,
}

impl Theme {
    pub(in crate::tui) const fn new(has_colors: bool) -> Self {
        Self { has_colors }
    }

    fn color(self, color: Color) -> Style {
        match self.has_colors {
            true => Style::new().fg(color),
            false => Style::new(),
        }
    }

    pub(super) const fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn chart(self, path: u64) -> Style {
        self.color(PATHS[(path % PATHS.len() as u64) as usize])
    }

    pub(super) fn state(self, path: &PathSample) -> Style {
        match path.state {
            "active" if path.resting => Style::new(),
            "active" => self.color(Color::Green),
            "unconfirmed" => Style::new(),
            _ => self.color(Color::Red).add_modifier(Modifier::BOLD),
        }
    }

    pub(super) fn event(self, severity: Severity) -> Style {
        match severity {
            Severity::Warning | Severity::Error => self.color(Color::Red).add_modifier(Modifier::BOLD),
            _ => Style::new(),
        }
    }
}
