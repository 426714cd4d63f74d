//! Line charts with error bars as SVG and PNG, identical on every machine. How are measurements drawn?
//!
//! ```text
//! Chart ─▶ scales, ticks, legend ─▶ Drawing: a list of shapes ─▶ svg, with notes and classes for a page's style
//!                                                             └▶ png, with a font of our own
//! ```

mod axis;
mod chart;
mod draw;
mod font;
mod legend;
mod palette;
mod png;
mod shape;
mod svg;

pub use axis::{Axis, Scale, grouped};
pub use chart::{Chart, Colour, Marker, Point, Series, Stroke, Style};
pub use palette::{COLOURS, NEUTRAL, Shade};
pub use png::PngError;
pub use shape::Drawing;
