//! Parameters of an algorithm: names, descriptions, and values as text.

mod slot;

use alloc::string::String;
use core::fmt;

pub(crate) use slot::Word;
pub use slot::{Refused, Slot, Text};

/// One parameter of an algorithm, as the documentation and the command line show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// The name that users type.
    pub name: &'static str,
    /// Its default value, as users would type it.
    pub default: &'static str,
    /// Its meaning and its valid values.
    pub meaning: &'static str,
}

/// The parameters of one algorithm.
pub trait Parameters: Copy + Default + PartialEq + fmt::Debug + 'static {
    /// All parameters.
    const LIST: &'static [Parameter];

    /// The slot of the parameter `name`; `None` if there is no such parameter.
    fn slot(&mut self, name: &str) -> Option<Slot<'_>>;

    /// Sets the parameter `name` to `value`.
    ///
    /// # Errors
    ///
    /// [`Refused`] if there is no such parameter, or if it cannot take this value; then nothing is changed.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        self.slot(name).ok_or(Refused::Name)?.set(value)
    }

    /// The value of the parameter `name`, as users would type it.
    fn show(&self, name: &str) -> Option<String> {
        let mut copy = *self;
        copy.slot(name).map(|slot| slot.show())
    }
}

/// The parameters of an algorithm that has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoParameters;

impl Parameters for NoParameters {
    const LIST: &'static [Parameter] = &[];

    fn slot(&mut self, _name: &str) -> Option<Slot<'_>> {
        None
    }
}
