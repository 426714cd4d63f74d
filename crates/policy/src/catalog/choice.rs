//! Choices by name: one type for each extension point, made from the list of its algorithms.

use alloc::boxed::Box;
use alloc::string::String;

use super::{Algorithm, ExtensionPoint};
use crate::parameters::Refused;
use crate::unknown_name::UnknownName;

/// The algorithm chosen for an extension point, with its parameters.
pub trait Choice: Copy + PartialEq + core::fmt::Debug {
    /// The extension point.
    const POINT: ExtensionPoint;

    /// The algorithm called `name`, with its default parameters.
    ///
    /// # Errors
    ///
    /// [`UnknownName`] with the names there are.
    fn named(name: &str) -> Result<Self, UnknownName>;

    /// The name of the algorithm.
    fn name(&self) -> &'static str;

    /// Sets a parameter of the algorithm.
    ///
    /// # Errors
    ///
    /// [`Refused`] if it has no such parameter, or none with such a value.
    fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), Refused>;

    /// The value of a parameter of the algorithm, as users would type it; `None` if it has no such parameter.
    fn show_parameter(&self, name: &str) -> Option<String>;

    /// The entry in the catalog.
    #[must_use]
    fn algorithm(&self) -> &'static Algorithm {
        let mut algorithms = Self::POINT.algorithms.iter();
        algorithms
            .find(|algorithm| algorithm.name == self.name())
            .expect("invariant: names and algorithms come from one list")
    }
}

/// A choice from which a policy is made; the other choices are implemented by the core itself.
pub trait PolicyChoice: Choice {
    /// The trait object that it makes.
    type Policy: ?Sized;

    /// A new policy.
    fn build(&self) -> Box<Self::Policy>;
}

/// Makes the type of an extension point's choices from the list of its algorithms.
///
/// A macro because a function cannot define the variants, and a list kept twice would drift apart.
macro_rules! options {
    (
        $(#[$doc:meta])*
        $choice:ident = $point:literal, $description:literal;
        $(
            $name:literal $(| $alias:literal)* => $variant:ident($parameters:ty),
            $summary:literal, $source:literal;
        )+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $choice {
            $(
                #[doc = concat!("`", $name, "`: ", $summary, " (", $source, ").")]
                $variant($parameters),
            )+
        }

        impl $crate::catalog::Choice for $choice {
            const POINT: $crate::catalog::ExtensionPoint = $crate::catalog::ExtensionPoint {
                name: $point,
                description: $description,
                algorithms: &[$(
                    $crate::catalog::Algorithm {
                        name: $name,
                        summary: $summary,
                        source: $source,
                        parameters: <$parameters as $crate::Parameters>::LIST,
                    },
                )+],
            };

            fn named(name: &str) -> Result<Self, $crate::UnknownName> {
                match name {
                    $($name $(| $alias)* => Ok(Self::$variant(Default::default())),)+
                    _ => Err($crate::UnknownName::new($point, name, [$($name),+])),
                }
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            fn set_parameter(&mut self, name: &str, value: &str) -> Result<(), $crate::Refused> {
                match self {
                    $(Self::$variant(parameters) => $crate::Parameters::set(parameters, name, value),)+
                }
            }

            fn show_parameter(&self, name: &str) -> Option<alloc::string::String> {
                match self {
                    $(Self::$variant(parameters) => $crate::Parameters::show(parameters, name),)+
                }
            }
        }
    };
}

/// Like the macro above, for choices that construct policies: each algorithm is listed with its constructor.
macro_rules! choices {
    (
        $(#[$doc:meta])*
        $choice:ident of $trait:ident = $point:literal, $description:literal;
        $(
            $name:literal $(| $alias:literal)* => $variant:ident($parameters:ty), $constructor:expr,
            $summary:literal, $source:literal;
        )+
    ) => {
        $crate::catalog::choice::options! {
            $(#[$doc])*
            $choice = $point, $description;
            $($name $(| $alias)* => $variant($parameters), $summary, $source;)+
        }

        impl $crate::catalog::PolicyChoice for $choice {
            type Policy = dyn $trait;

            fn build(&self) -> alloc::boxed::Box<dyn $trait> {
                match *self {
                    $(Self::$variant(parameters) => alloc::boxed::Box::new($constructor(parameters)),)+
                }
            }
        }
    };
}

pub(crate) use {choices, options};
