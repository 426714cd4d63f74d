//! What became of the claims? docs/claims.md, of the plans and of what is kept of their results.

use anabranch_lab::account::Account;
use anabranch_lab::claims::{Claim, markdown};

use super::text::print;
use crate::arguments::LabClaimsArguments;
use crate::failure::Failure;

pub(super) fn run(arguments: &LabClaimsArguments) -> Result<(), Failure> {
    let mut claims = Vec::new();
    for file in super::plans(&arguments.folder)? {
        let [full, quick] = super::both_sizes(&file)?;
        let kept = super::kept_file(&super::kept_folder(&file), &full.name);
        let account = match kept.is_file() {
            true => Some(Account::load(&kept).map_err(Failure::usage)?),
            false => None,
        };
        claims.push(Claim::new(full, &quick, account));
    }
    print(&markdown(&claims));
    Ok(())
}
