//! Recipes as text: one `key = value` per line, `#` begins a comment.

use alloc::string::{String, ToString};
use core::fmt;

use super::PolicyRecipe;
use crate::unknown_name::UnknownName;

/// Why a text is not a recipe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecipeError {
    /// In which line, counted from 1.
    pub line: usize,
    /// The error in this line.
    pub problem: String,
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl core::error::Error for RecipeError {}

impl PolicyRecipe {
    /// This recipe with the changes in `text`, in order: lines of `key = value` as for [`PolicyRecipe::set`], or
    /// `profile = NAME`, which replaces everything before it. Empty lines and comments after `#` are ignored.
    ///
    /// ```
    /// use anabranch_policy::PolicyRecipe;
    /// let text = "profile = rfc9260   # to begin with\npath-scheduler = round-robin\ncc.growth = cuc-v2\n";
    /// let recipe = PolicyRecipe::default().changed_by(text)?;
    /// assert_eq!(PolicyRecipe::default().changed_by(&recipe.to_string())?, recipe);
    /// # Ok::<(), anabranch_policy::RecipeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecipeError`] with the line that is invalid.
    pub fn changed_by(self, text: &str) -> Result<Self, RecipeError> {
        let mut recipe = self;
        for (index, line) in text.lines().enumerate() {
            let said = line.split('#').next().unwrap_or_default().trim();
            if said.is_empty() {
                continue;
            }
            recipe = change(recipe, said).map_err(|problem| RecipeError {
                line: index + 1,
                problem,
            })?;
        }
        Ok(recipe)
    }
}

fn change(mut recipe: PolicyRecipe, assignment: &str) -> Result<PolicyRecipe, String> {
    let Some((key, value)) = assignment.split_once('=') else {
        return Err(["expected `key = value`, found `", assignment, "`"].concat());
    };
    let unknown = |error: UnknownName| error.to_string();
    match (key.trim(), value.trim()) {
        ("profile", name) => PolicyRecipe::profile(name).map_err(unknown),
        (key, value) => recipe.set(key, value).map_err(unknown).map(|()| recipe),
    }
}

/// All choices with all their parameters, one per line, as [`PolicyRecipe::changed_by`] reads them.
impl fmt::Display for PolicyRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in self.assignments() {
            writeln!(f, "{key} = {value}")?;
        }
        Ok(())
    }
}
