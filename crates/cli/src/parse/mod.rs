//! How are places, amounts and links written on the command line? One small parser each; every error says what
//! was expected.

mod link;
mod place;
mod quantity;

pub(crate) use link::{ShapedPath, parse_path};
pub(crate) use place::{Locals, Places, parse_from, parse_listen, parse_to};
pub(crate) use quantity::{parse_duration, parse_size};

#[cfg(test)]
mod tests;
