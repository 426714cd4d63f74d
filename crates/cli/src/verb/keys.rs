//! `anabranch genkey` and `pubkey`: make a private key, and print the public key of one.

use std::io;

use anabranch::PrivateKey;

use crate::failure::Failure;
use crate::keys;
use crate::output;

/// Prints a new private key.
pub(crate) fn generate() -> Result<(), Failure> {
    let key = PrivateKey::generate().map_err(Failure::work)?;
    output::print(format!("{}\n", key.to_base64()))
}

/// Reads a private key from standard input and prints its public key.
pub(crate) fn print_public() -> Result<(), Failure> {
    let text = io::read_to_string(io::stdin()).map_err(Failure::work)?;
    let key = keys::parse(&text).map_err(Failure::Usage)?;
    output::print(format!("{}\n", key.public_key()))
}
