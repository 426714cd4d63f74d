//! Keys of the live view in a terminal. Which key does what?

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a key does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    /// End the verb, as Ctrl-C does.
    End,
    /// Stop the program until its user continues it, as Ctrl-Z does without the view.
    Suspend,
    /// Show the next transfer.
    Next,
    /// Show the transfer before.
    Previous,
    /// Close the list of keys, or show the newest transfer.
    Back,
    /// Draw another span of time.
    Span,
    /// Show or hide the list of keys.
    Keys,
}

/// What users are told.
pub(super) const KEYS: [(&str, &str); 6] = [
    ("q, Ctrl-C", "end"),
    ("Ctrl-Z", "stop until `fg`"),
    ("↓ Tab, ↑", "next transfer, the one before"),
    ("Esc", "newest transfer"),
    ("t", "time that is drawn: 1 minute, 10 minutes, all"),
    ("?", "show and hide this list"),
];

/// What a key does, if anything.
pub(super) fn action(key: KeyEvent) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char('c') if key.modifiers == KeyModifiers::CONTROL => Some(Action::End),
        KeyCode::Char('z') if key.modifiers == KeyModifiers::CONTROL => Some(Action::Suspend),
        KeyCode::Char('q') if is_plain => Some(Action::End),
        KeyCode::Char('t') if is_plain => Some(Action::Span),
        KeyCode::Char('?') if is_plain => Some(Action::Keys),
        KeyCode::Down | KeyCode::Tab => Some(Action::Next),
        KeyCode::Up | KeyCode::BackTab => Some(Action::Previous),
        KeyCode::Esc => Some(Action::Back),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_action() {
        let plain = |code| action(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(plain(KeyCode::Char('q')), Some(Action::End));
        assert_eq!(plain(KeyCode::Char('t')), Some(Action::Span));
        assert_eq!(plain(KeyCode::Char('?')), Some(Action::Keys));
        assert_eq!(plain(KeyCode::Down), Some(Action::Next));
        assert_eq!(plain(KeyCode::Tab), Some(Action::Next));
        assert_eq!(plain(KeyCode::Up), Some(Action::Previous));
        assert_eq!(plain(KeyCode::Esc), Some(Action::Back));
        assert_eq!(plain(KeyCode::Char('c')), None);
        assert_eq!(plain(KeyCode::Enter), None);
    }

    #[test]
    fn modifiers_are_those_of_the_key() {
        let with = |code, modifiers| action(KeyEvent::new(code, modifiers));
        assert_eq!(with(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::End));
        assert_eq!(
            with(KeyCode::Char('z'), KeyModifiers::CONTROL),
            Some(Action::Suspend)
        );
        assert_eq!(with(KeyCode::Char('q'), KeyModifiers::ALT), None);
        assert_eq!(
            with(KeyCode::BackTab, KeyModifiers::SHIFT),
            Some(Action::Previous)
        );
        // Some keyboards have it there.
        assert_eq!(with(KeyCode::Char('?'), KeyModifiers::SHIFT), Some(Action::Keys));
    }

    #[test]
    fn released_key_does_nothing() {
        let released = KeyEvent::new_with_kind(KeyCode::Char('q'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(action(released), None);
    }
}
