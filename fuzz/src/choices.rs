//! Decisions from the fuzzer's bytes, in order. When they run out, every decision is 0.

/// The fuzzer's bytes.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Reads the decisions of one run from `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether all bytes have been used.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else {
            return 0;
        };
        self.bytes = rest;
        *first
    }

    /// Two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Four bytes.
    pub fn long(&mut self) -> u32 {
        u32::from(self.short()) << 16 | u32::from(self.short())
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// A number around `base` most of the time, sometimes half the number space away or any other.
    pub fn around(&mut self, base: u32) -> u32 {
        match self.byte() {
            0x80 => self.long(),
            0x81 => base.wrapping_add(1 << 31),
            0x82 => base.wrapping_add((1 << 31) - 1),
            small => base.wrapping_add(small as i8 as u32),
        }
    }

    /// The next `count` bytes, or fewer if fewer are left.
    pub fn slice(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(count.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }
}
