//! End-to-end tests. Does the program do what its help says? The binary itself, two processes, real sockets on loopback.
#![cfg(test)]

mod arguments;
mod browser;
mod certificates;
mod check;
mod cut_link;
mod dashboard;
mod durable;
mod folders;
mod full_disk;
mod harness;
mod hostile;
mod hostile_folder;
mod json;
mod kills;
mod lab;
mod loss_of_peer;
mod measure;
mod messages;
mod report;
mod resume;
#[cfg(target_os = "linux")]
mod run;
mod sealed;
mod slots;
mod small_link;
mod stalled_reader;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
mod trace;
mod transfer;
#[cfg(target_os = "linux")]
mod tui;
mod tunnel;
mod tunnel_quota;
mod tunnel_reload;
mod tunnel_soak;
mod tutorial;
mod words;
