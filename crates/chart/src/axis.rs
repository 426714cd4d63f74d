//! Axis: scale, tick positions and tick labels. How are values mapped to pixels?

/// An axis of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Axis label, including the unit.
    pub label: String,
    /// How values are mapped to positions.
    pub scale: Scale,
}

/// Scale of an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// Linear scale.
    Linear,
    /// Logarithmic scale to base 10. Values that are not positive are not drawn.
    Log,
    /// Categories at equal distances; values are indices into this list, starting at 0.
    Words(Vec<String>),
}

/// Maps the value range of an axis to its pixel range.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ruler {
    low: f64,
    high: f64,
    is_log: bool,
    /// Pixel positions of both ends.
    begin: f32,
    end: f32,
}

/// A tick with its label.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

impl Ruler {
    /// Returns the pixel position of `value`.
    pub(crate) fn place(&self, value: f64) -> f32 {
        let (low, high, value) = if self.is_log {
            (self.low.log10(), self.high.log10(), value.log10())
        } else {
            (self.low, self.high, value)
        };
        let share = (value - low) / (high - low);
        self.begin + (self.end - self.begin) * share as f32
    }

    /// Returns whether `value` can be drawn on this scale.
    pub(crate) fn can_show(&self, value: f64) -> bool {
        value.is_finite() && (!self.is_log || value > 0.0)
    }

    fn length(&self) -> f32 {
        (self.end - self.begin).abs()
    }
}

/// Tick spacing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spacing {
    /// Approximate distance between ticks, in pixels.
    pub(crate) usual: f32,
    /// Pixels that each character of a label takes along the axis; 0 if labels run across it.
    pub(crate) letter: f32,
}

impl Axis {
    /// Builds the y axis for `values`. A linear axis includes zero, and both ends are at ticks.
    pub(crate) fn upwards(
        &self,
        values: &[f64],
        (begin, end): (f32, f32),
        spacing: Spacing,
    ) -> (Ruler, Vec<Tick>) {
        let (low, high) = extent(values, self.is_log());
        let low = if self.is_log() { low } else { low.min(0.0) };
        let count = ((end - begin).abs() / spacing.usual).max(2.0);
        let values = if self.is_log() {
            powers(low, high)
        } else {
            around(low, high, f64::from(count))
        };
        let (low, high) = (values[0], values[values.len() - 1]);
        let ruler = Ruler {
            low,
            high,
            is_log: self.is_log(),
            begin,
            end,
        };
        (ruler, self.ticks(&values))
    }

    /// Builds the x axis for `values`. Ticks mark the measured values if their labels fit.
    pub(crate) fn rightwards(
        &self,
        values: &[f64],
        (begin, end): (f32, f32),
        spacing: Spacing,
    ) -> (Ruler, Vec<Tick>) {
        if let Scale::Words(words) = &self.scale {
            return of_words(words, (begin, end));
        }
        let mut different = values.to_vec();
        different.retain(|value| !self.is_log() || *value > 0.0);
        different.sort_by(f64::total_cmp);
        different.dedup();
        let (mut low, high) = extent(&different, self.is_log());
        if !self.is_log() && low > 0.0 && low < 0.3 * high {
            low = 0.0;
        }
        let ruler = Ruler {
            low,
            high,
            is_log: self.is_log(),
            begin,
            end,
        };
        if low == 0.0 && !self.is_log() && different.first().is_some_and(|first| *first > 0.0) {
            different.insert(0, 0.0);
        }
        let own = self.ticks(&different);
        let is_roomy = |pair: &[Tick]| {
            let apart = ruler.place(pair[1].value) - ruler.place(pair[0].value);
            let letters = pair[0].label.len().max(pair[1].label.len());
            apart >= spacing.letter * letters as f32 + 8.0
        };
        if own.len() <= MAX_OWN_TICKS && own.windows(2).all(is_roomy) {
            return (ruler, own);
        }
        let count = f64::from(ruler.length() / spacing.usual);
        let mut ticks = if self.is_log() {
            powers(low, high)
        } else {
            around(low, high, count)
        };
        let slack = (high - low) * 1e-9;
        ticks.retain(|value| (low - slack..=high + slack).contains(value));
        (ruler, self.ticks(&ticks))
    }

    /// On a logarithmic axis, each label has only the decimals that its own value needs.
    fn ticks(&self, values: &[f64]) -> Vec<Tick> {
        if self.is_log() {
            return values.iter().flat_map(|value| labelled(&[*value])).collect();
        }
        labelled(values)
    }

    const fn is_log(&self) -> bool {
        matches!(self.scale, Scale::Log)
    }
}

/// Maximum number of measured values that each get their own tick.
const MAX_OWN_TICKS: usize = 16;

fn of_words(words: &[String], (begin, end): (f32, f32)) -> (Ruler, Vec<Tick>) {
    let tick = |(place, word): (usize, &String)| Tick {
        value: place as f64,
        label: word.clone(),
    };
    let ruler = Ruler {
        low: -0.5,
        high: words.len().max(1) as f64 - 0.5,
        is_log: false,
        begin,
        end,
    };
    (ruler, words.iter().enumerate().map(tick).collect())
}

/// Returns the minimum and maximum of the values, widened if they are equal.
fn extent(values: &[f64], is_log: bool) -> (f64, f64) {
    let shown = || {
        values
            .iter()
            .copied()
            .filter(|value| value.is_finite() && (!is_log || *value > 0.0))
    };
    let (low, high) = (
        shown().fold(f64::INFINITY, f64::min),
        shown().fold(f64::NEG_INFINITY, f64::max),
    );
    if low > high {
        return if is_log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    if low < high {
        return (low, high);
    }
    match low {
        same if is_log => (same / 2.0, same * 2.0),
        0.0 => (0.0, 1.0),
        same if same > 0.0 => (0.0, same * 1.25),
        same => (same * 1.25, 0.0),
    }
}

/// Returns about `count` round numbers that cover the range from `low` to `high`.
fn around(low: f64, high: f64, count: f64) -> Vec<f64> {
    let rough = (high - low) / count;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|factor| power * factor >= rough * 0.999)
        .unwrap_or(10.0);
    let step = power * factor;
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
    let count = (last - first).max(1.0) as usize;
    (0..=count).map(|index| (first + index as f64) * step).collect()
}

/// Returns powers of ten that cover the range from `low` to `high`. If there are few, 2 and 5 times each power are
/// added.
fn powers(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (
        (low.log10() + 1e-9).floor() as i32,
        (high.log10() - 1e-9).ceil() as i32,
    );
    let last = last.max(first + 1);
    let factors: &[f64] = if last - first <= 2 {
        &[1.0, 2.0, 5.0]
    } else {
        &[1.0]
    };
    let between =
        (first..last).flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    between.chain([10f64.powi(last)]).collect()
}

/// Formats with the fewest decimals that keep the labels distinct, and with thousands separators.
fn labelled(values: &[f64]) -> Vec<Tick> {
    let is_exact = |decimals: &usize| {
        let factor = 10f64.powi(i32::try_from(*decimals).unwrap_or(0));
        values
            .iter()
            .all(|value| ((value * factor).round() / factor - value).abs() <= value.abs() * 1e-9)
    };
    let decimals = (0..6).find(is_exact).unwrap_or(6);
    let tick = |value: &f64| Tick {
        value: *value,
        label: grouped(&format!("{:.decimals$}", value + 0.0)),
    };
    values.iter().map(tick).collect()
}

/// Adds thousands separators to a number from `format!` and replaces the hyphen by a minus sign as wide as a plus sign.
#[must_use]
pub fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = whole
        .strip_prefix('-')
        .map_or(("", whole), |digits| ("−", digits));
    let mut grouped = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: Spacing = Spacing {
        usual: 60.0,
        letter: 7.0,
    };

    fn axis(scale: Scale) -> Axis {
        Axis {
            label: String::new(),
            scale,
        }
    }

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn vertical_axis_starts_at_zero_and_ends_at_a_round_number() {
        let (ruler, ticks) = axis(Scale::Linear).upwards(&[8.5, 161.7], (300.0, 0.0), SPACING);
        assert_eq!(labels(&ticks), ["0", "50", "100", "150", "200"]);
        assert_eq!((ruler.place(0.0), ruler.place(200.0)), (300.0, 0.0));
        let (_, ticks) = axis(Scale::Linear).upwards(&[0.02, 0.031], (300.0, 0.0), SPACING);
        assert_eq!(labels(&ticks), ["0.00", "0.01", "0.02", "0.03", "0.04"]);
        let (_, ticks) = axis(Scale::Linear).upwards(&[1_864_135.0], (300.0, 0.0), SPACING);
        assert_eq!(labels(&ticks)[1], "500,000");
    }

    #[test]
    fn ticks_are_at_the_values_if_they_fit() {
        let few = [10.0, 20.0, 40.0, 100.0, 200.0];
        let (_, ticks) = axis(Scale::Linear).rightwards(&few, (0.0, 600.0), SPACING);
        assert_eq!(labels(&ticks), ["0", "10", "20", "40", "100", "200"]);
        let many: Vec<f64> = (0..300).map(f64::from).collect();
        let (_, ticks) = axis(Scale::Linear).rightwards(&many, (0.0, 600.0), SPACING);
        assert_eq!(labels(&ticks), ["0", "50", "100", "150", "200", "250"]);
    }

    #[test]
    fn logarithmic_axis_spaces_powers_of_ten_equally() {
        let (ruler, ticks) = axis(Scale::Log).upwards(&[0.0, 3.0, 2_000.0], (300.0, 0.0), SPACING);
        assert_eq!(labels(&ticks), ["1", "10", "100", "1,000", "10,000"]);
        assert_eq!((ruler.place(10.0), ruler.place(100.0)), (225.0, 150.0));
        assert!(!ruler.can_show(0.0));
    }

    #[test]
    fn axis_of_one_or_no_value_is_finite() {
        for values in [&[][..], &[0.0], &[7.0], &[-3.0]] {
            for scale in [Scale::Linear, Scale::Log] {
                let (ruler, ticks) = axis(scale.clone()).upwards(values, (300.0, 0.0), SPACING);
                assert!(
                    ticks.len() > 1 && ruler.place(ticks[0].value).is_finite(),
                    "{values:?}"
                );
                let (ruler, ticks) = axis(scale).rightwards(values, (0.0, 300.0), SPACING);
                assert!(
                    ticks.iter().all(|tick| ruler.place(tick.value).is_finite()),
                    "{values:?}"
                );
            }
        }
    }
}
