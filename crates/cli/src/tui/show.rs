//! The thread of the live view in a terminal. When is it drawn? Four times a second, at keys, and soon after events.

use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anabranch_dashboard::{INTERVAL, View};
use anstream::{AutoStream, ColorChoice};
use rustix::process::{Signal, getpid, kill_process};

use super::Tui;
use super::choice::Choice;
use super::draw::{Scene, Theme};
use super::input::Input;
use super::key::{Action, action};
use super::screen::Screen;
use crate::output::Event;

/// Shortest time between two drawings, unless a key is pressed.
const LEAST: Duration = Duration::from_millis(50);

/// Longest wait for a line that is being printed.
const HOLD: Duration = Duration::from_millis(200);

/// Shows the view until the verb has ended, and prints what was held.
pub(super) fn show(tui: &Tui, woken: UnixStream) {
    if tui.has_ended.load(Ordering::Relaxed) {
        return;
    }
    tui.told.hold(HOLD);
    let opened = Input::open(woken).and_then(|input| Ok((input, Screen::open()?)));
    let failed = opened.map(|(input, screen)| run(tui, input, screen)).err();
    tui.told.release();
    if let Some(error) = failed {
        let message = format!("cannot show the paths in this terminal: {error}");
        tui.told.report(&Event::Warning {
            transfer: None,
            path: None,
            message: &message,
        });
    }
}

/// Draws until the verb has ended, or the terminal is gone.
fn run(tui: &Tui, mut input: Input, mut screen: Screen) {
    let theme = Theme::new(AutoStream::choice(&std::io::stdout()) != ColorChoice::Never);
    let mut choice = Choice::default();
    loop {
        let span = choice.span().length;
        let view = tui.dashboard.view(choice.transfer, span);
        let scene = Scene {
            view,
            choice,
            notices: tui.notices().clone(),
            theme,
        };
        let drawn = Instant::now();
        if !screen.draw(&scene) {
            return;
        }
        let mut limit = INTERVAL;
        loop {
            let keys = input.wait(limit.saturating_sub(drawn.elapsed()));
            if tui.has_ended.load(Ordering::Relaxed) {
                return;
            }
            let actions: Vec<Action> = keys.into_iter().filter_map(action).collect();
            for action in &actions {
                on_action(&mut choice, *action, &scene.view);
            }
            if actions.contains(&Action::Suspend) {
                let Ok(again) = screen.suspend() else {
                    return;
                };
                screen = again;
            }
            if !actions.is_empty() || drawn.elapsed() >= LEAST {
                break;
            }
            limit = LEAST;
        }
    }
}

fn on_action(choice: &mut Choice, action: Action, view: &View) {
    let numbers: Vec<u64> = view.transfers.iter().map(|known| known.transfer).collect();
    let shown = view.shown.as_ref().map(|shown| shown.transfer);
    let shown = choice.transfer.or(shown);
    choice.on_action(action, &numbers, shown);
    if action == Action::End {
        // What Ctrl-C does without the view. The process exists.
        let _ = kill_process(getpid(), Signal::INT);
    }
}
