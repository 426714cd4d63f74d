//! Input files of a plan: rate traces and delay tables. What do they contain?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch_netsim::link::DelayTable;
use anabranch_netsim::{LineError, RateTrace};
use sha2::{Digest as _, Sha256};

use super::link::{TablePlan, TracePlan, VariationPlan};
use super::setting::{LinkPlan, Setting};
use super::validate::Fault;

/// Reads each input file of a plan once.
pub(super) struct Inputs {
    folder: PathBuf,
    traces: BTreeMap<String, Content<RateTrace>>,
    tables: BTreeMap<String, Content<DelayTable>>,
}

/// Content of a file and its digest, or what is wrong with it.
type Content<T> = Result<(Arc<T>, String), String>;

impl Inputs {
    /// Files are relative to the folder of the plan in `file`.
    pub(super) fn new(file: &Path) -> Self {
        Self {
            folder: file.parent().unwrap_or_else(|| Path::new("")).to_owned(),
            traces: BTreeMap::new(),
            tables: BTreeMap::new(),
        }
    }

    /// Reads all files of a setting into it.
    pub(super) fn load(&mut self, setting: &mut Setting) -> Result<(), Fault> {
        for (name, link) in &mut setting.paths.0 {
            self.load_link(link, &["paths", name])?;
        }
        if let Some(link) = &mut setting.bottleneck {
            self.load_link(link, &["bottleneck"])?;
        }
        for (name, flow) in &mut setting.cross_traffic.0 {
            self.load_link(&mut flow.access, &["cross-traffic", name, "access"])?;
        }
        Ok(())
    }

    fn load_link(&mut self, link: &mut LinkPlan, path: &[&str]) -> Result<(), Fault> {
        let at = |keys: &[&str], text| Fault {
            path: path.iter().chain(keys).map(|key| (*key).to_owned()).collect(),
            text,
        };
        if let Some(trace) = &mut link.trace {
            self.load_trace(trace)
                .map_err(|text| at(&["trace", "file"], text))?;
        }
        if let Some(VariationPlan::Table(table)) = &mut link.delay_variation {
            let keys = ["delay-variation", "table", "file"];
            self.load_table(table).map_err(|text| at(&keys, text))?;
        }
        match &mut link.reverse {
            Some(reverse) => self.load_link(reverse, &[path, &["reverse"]].concat()),
            None => Ok(()),
        }
    }

    fn load_trace(&mut self, plan: &mut TracePlan) -> Result<(), String> {
        let Some(file) = &plan.file else {
            return Ok(());
        };
        let read = || content(&self.folder.join(file), RateTrace::parse);
        let (trace, digest) = self.traces.entry(file.clone()).or_insert_with(read).clone()?;
        plan.content = Some(trace);
        expect_digest(&mut plan.digest, digest)
    }

    fn load_table(&mut self, plan: &mut TablePlan) -> Result<(), String> {
        let read = || content(&self.folder.join(&plan.file), DelayTable::parse);
        let (table, digest) = self
            .tables
            .entry(plan.file.clone())
            .or_insert_with(read)
            .clone()?;
        plan.content = Some(table);
        expect_digest(&mut plan.digest, digest)
    }
}

fn content<T>(file: &Path, parse: impl Fn(&str) -> Result<T, LineError>) -> Content<T> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
    let parsed = parse(&text).map_err(|error| format!("{shown}:{error}"))?;
    let digest = Sha256::digest(text);
    Ok((
        Arc::new(parsed),
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect(),
    ))
}

/// Fills in the digest of a file, or compares it with the one that the plan gives.
fn expect_digest(given: &mut Option<String>, found: String) -> Result<(), String> {
    match given {
        Some(given) if *given != found => Err(format!(
            "the file has changed: its digest is {found}, expected {given}"
        )),
        _ => {
            *given = Some(found);
            Ok(())
        }
    }
}
