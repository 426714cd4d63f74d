//! Does a claim hold? Experiments, listed, shown, run and compared.

mod compare;
mod list;
mod run;
mod show;
mod text;

use anabranch_lab::Plan;
use anabranch_lab::plan::Reading;

use crate::arguments::{LabVerb, PlanArguments};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// Does what was asked of the lab.
pub(crate) async fn run(verb: LabVerb, interrupt: &mut Interrupt) -> Result<(), Failure> {
    match verb {
        LabVerb::Run(arguments) => run::run(arguments, interrupt).await,
        LabVerb::List(arguments) => list::run(&arguments),
        LabVerb::Show(arguments) => show::run(&arguments),
        LabVerb::Compare(arguments) => compare::run(&arguments),
    }
}

fn load(arguments: &PlanArguments) -> Result<Plan, Failure> {
    let reading = Reading {
        quick: arguments.quick,
        changes: arguments.set.clone(),
    };
    Plan::load(&arguments.plan, &reading).map_err(Failure::usage)
}
