//! Encryption of a program's sockets. Which variables tell the library of the keys, and what is the user told?

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::arguments::EncryptionArguments;
use crate::failure::Failure;
use crate::keys;
use crate::output;

type Variables = Vec<(&'static str, OsString)>;

/// Adds the variables of the library, and says which key this host has.
pub(super) fn choose(arguments: EncryptionArguments, variables: &mut Variables) -> Result<(), Failure> {
    let EncryptionArguments {
        encrypt,
        key,
        trust,
        clear,
        encryption,
    } = arguments;
    let key = match key {
        None if encrypt => Some(keys::own_key_file()?),
        named => named,
    };
    if key.is_none() && encryption.is_none() {
        if trust.is_empty() && clear.is_empty() {
            return Ok(());
        }
        return Err(Failure::usage(
            "--trust and --clear are about encryption; add --encrypt, --key or --encryption",
        ));
    }
    let says_all = encryption.is_none();
    if let Some(file) = encryption {
        variables.push(("ANABRANCH_ENCRYPTION", absolute(&file)?.into()));
    }
    if let Some(file) = key {
        let public = keys::read(&file).map_err(Failure::Usage)?.public_key();
        let others = if says_all && trust.is_empty() {
            "; no peers are trusted (--trust), so that all are accepted and none is connected to"
        } else {
            ""
        };
        output::remark(format_args!(
            "anabranch: sockets encrypt; peers trust this host by --trust {public}{others}"
        ));
        variables.push(("ANABRANCH_KEY", absolute(&file)?.into()));
    }
    let joined = |all: Vec<String>| OsString::from(all.join(" "));
    if !trust.is_empty() {
        let keys = trust.iter().map(ToString::to_string).collect();
        variables.push(("ANABRANCH_TRUST", joined(keys)));
    }
    if !clear.is_empty() {
        variables.push(("ANABRANCH_CLEAR", joined(clear)));
    }
    Ok(())
}

/// The program may change its folder before it has the first socket.
fn absolute(file: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(file).map_err(Failure::usage)
}
