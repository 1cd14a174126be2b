//! Validators of messages: the plugins of the role `check`, and what the program passes in. The runtime itself does not
//! know what messages mean.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use flowpipe_config::manifest::Manifest;
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::check::CheckPlugin;
pub use flowpipe_host::check::Judgement;
use flowpipe_host::clock::Clock;
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::instance::CreateError;
use flowpipe_host::message::Message;
use flowpipe_host::table::Services;
use flowpipe_sync::lock;

/// Validates the messages of one schema.
pub trait Validator: Send + Sync {
    /// Judges a message that a stage is about to emit. `parent` is the message that the stage is processing, if any.
    /// Called on the stage's thread, so it should be quick.
    fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement;
}

/// Validators that the program passes in, by schema id. They judge besides the plugins.
pub type Validators = HashMap<String, Vec<Arc<dyn Validator>>>;

/// Why the checks of a pipeline can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A check that messages need is missing.
    #[error(
        "{plugin} emits {schema}, which the plugin \"{check}\" has to check, and there is no such check: install it, or \
         name its folder with --plugin-dir"
    )]
    Missing {
        /// The plugin of the stage.
        plugin: String,
        /// The schema of its output.
        schema: String,
        /// The name of the check.
        check: String,
    },
    /// A check failed to start.
    #[error("the check \"{check}\" failed to start: {error}")]
    Start {
        /// The name of the check.
        check: String,
        /// Its error.
        error: CreateError,
    },
}

/// Starts all checks of a catalogue, outside of a run.
///
/// # Errors
/// When one does not start.
pub fn load_all(catalogue: &Catalogue) -> Result<Validators, CheckError> {
    let services = Arc::new(Services {
        clock: Clock::start(),
        pool: Pool::new(0),
        run: OnceLock::new(),
    });
    let mut validators = Validators::new();
    for found in checks_in(catalogue) {
        let check = start(found, &services)?;
        for input in &found.manifest.inputs {
            let judges = validators.entry(input.schema.clone()).or_default();
            judges.push(check.clone());
        }
    }
    Ok(validators)
}

/// The validators of a run, by schema id. Hot reloads add some.
pub(crate) struct Checks {
    by_schema: Mutex<Validators>,
    /// Those of them that are plugins of this run.
    loaded: Mutex<Vec<Arc<CheckPlugin>>>,
}

impl Validator for CheckPlugin {
    fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement {
        Self::judge(self, parent, message)
    }
}

impl Checks {
    /// The validators that the program passes in.
    pub(crate) fn new(validators: Validators) -> Self {
        Self {
            by_schema: Mutex::new(validators),
            loaded: Mutex::default(),
        }
    }

    /// Loads the checks of all messages that stages with these manifests may emit, unless they are loaded.
    ///
    /// # Errors
    /// When a check is missing or does not start. Checks that did start remain.
    pub(crate) fn load(
        &self,
        manifests: &[&Manifest],
        catalogue: &Catalogue,
        services: &Arc<Services>,
    ) -> Result<(), CheckError> {
        let known: BTreeSet<String> = lock(&self.by_schema).keys().cloned().collect();
        for found in needed(manifests, catalogue, &known)? {
            let schemas = found.manifest.inputs.iter().map(|input| &input.schema);
            if schemas.clone().all(|schema| known.contains(schema)) {
                continue;
            }
            let check = start(found, services)?;
            lock(&self.loaded).push(check.clone());
            let mut by_schema = lock(&self.by_schema);
            for schema in schemas.filter(|schema| !known.contains(*schema)) {
                let checks = by_schema.entry(schema.clone()).or_default();
                checks.push(check.clone());
            }
        }
        Ok(())
    }

    /// Ends the checks of a run whose workers have all ended.
    pub(crate) fn end(&self) {
        lock(&self.loaded).drain(..).for_each(|check| check.end());
    }

    /// The validators of a schema.
    pub(crate) fn of(&self, schema: &str) -> Vec<Arc<dyn Validator>> {
        lock(&self.by_schema)
            .get(schema)
            .cloned()
            .unwrap_or_default()
    }
}

/// Judges a message by several validators: one refusal refuses it, and a weak answer remains weak.
pub(crate) fn judge(
    validators: &[Arc<dyn Validator>],
    parent: Option<&Message>,
    message: &Message,
) -> Judgement {
    let mut judgement = Judgement::Accept;
    for validator in validators {
        match validator.judge(parent, message) {
            Judgement::Accept => {}
            refusal @ Judgement::Refuse(_) => return refusal,
            weak @ Judgement::Weak(_) if judgement == Judgement::Accept => judgement = weak,
            Judgement::Weak(_) => {}
        }
    }
    judgement
}

/// The checks that messages of stages with these manifests need: those that outputs name, and all others that judge one of
/// their schemas. An output of any schema needs all.
fn needed<'a>(
    manifests: &[&Manifest],
    catalogue: &'a Catalogue,
    known: &BTreeSet<String>,
) -> Result<Vec<&'a Found>, CheckError> {
    let mut schemas = BTreeSet::new();
    for manifest in manifests {
        for output in &manifest.outputs {
            schemas.insert(output.schema.as_str());
            if let Some(check) = &output.check
                && !known.contains(&output.schema)
                && !catalogue
                    .find(check)
                    .is_some_and(|found| found.manifest.judges(&output.schema))
            {
                return Err(CheckError::Missing {
                    plugin: manifest.name.clone(),
                    schema: output.schema.clone(),
                    check: check.clone(),
                });
            }
        }
    }
    let is_needed = |found: &&Found| {
        let mut judged = found.manifest.inputs.iter();
        schemas.contains("*") || judged.any(|input| schemas.contains(input.schema.as_str()))
    };
    Ok(checks_in(catalogue).filter(is_needed).collect())
}

fn checks_in(catalogue: &Catalogue) -> impl Iterator<Item = &Found> {
    let stages = catalogue.stages().iter();
    stages.filter(|found| found.manifest.is_check())
}

fn start(found: &Found, services: &Arc<Services>) -> Result<Arc<CheckPlugin>, CheckError> {
    let check = CheckPlugin::create(found, services.clone());
    let check = check.map_err(|error| CheckError::Start {
        check: found.manifest.name.clone(),
        error,
    })?;
    Ok(Arc::new(check))
}
