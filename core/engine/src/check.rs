//! Validators of messages: the plugins of the role `check`, and what the program passes in. The runtime itself does not
//! know what messages mean.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use flowpipe_config::manifest::{Manifest, Port};
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

/// A check that a reload adds, or whose library is another file or has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckChange {
    /// Its name.
    pub check: String,
    /// Whether no check of its name judged before.
    pub is_new: bool,
}

impl fmt::Display for CheckChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_new { "added" } else { "new file" };
        write!(f, "{} ({what})", self.check)
    }
}

/// A check of a pipeline's messages.
#[derive(Clone, Debug)]
pub struct ListedCheck<'a> {
    /// The check.
    pub found: &'a Found,
    /// The schemas of its messages that the pipeline may have.
    pub schemas: Vec<&'a str>,
    /// Whether it judges them: an output names it, or it belongs to the program.
    pub judges: bool,
}

/// The checks of messages that stages with these manifests may emit: those that judge them, and those that would if an
/// output named them.
#[must_use]
pub fn listing<'a>(manifests: &[&Manifest], catalogue: &'a Catalogue) -> Vec<ListedCheck<'a>> {
    let outputs = || manifests.iter().flat_map(|manifest| &manifest.outputs);
    let named = named_checks(outputs());
    let emitted: BTreeSet<_> = outputs().map(|output| output.schema.as_str()).collect();
    let checks = checks_in(catalogue).map(|found| {
        let inputs = found.manifest.inputs.iter();
        let schemas = inputs.map(|input| input.schema.as_str());
        let schemas = schemas.filter(|it| emitted.contains("*") || emitted.contains(it));
        ListedCheck {
            found,
            schemas: schemas.collect(),
            judges: judges(found, &named),
        }
    });
    checks.filter(|check| !check.schemas.is_empty()).collect()
}

/// The checks that outputs name.
fn named_checks<'a>(outputs: impl Iterator<Item = &'a Port>) -> BTreeSet<&'a str> {
    outputs.filter_map(|it| it.check.as_deref()).collect()
}

/// Whether a check judges messages of outputs that name these checks.
fn judges(found: &Found, named: &BTreeSet<&str>) -> bool {
    found.is_own || named.contains(found.manifest.name.as_str())
}

/// Logs which checks would judge messages, and do not because no output names them.
pub(crate) fn warn_of_unused(manifests: &[&Manifest], catalogue: &Catalogue) {
    let listed = listing(manifests, catalogue);
    for check in listed.iter().filter(|check| !check.judges) {
        tracing::warn!("{}", check.unused());
    }
}

impl ListedCheck<'_> {
    /// That it does not judge, and how it would.
    #[must_use]
    pub fn unused(&self) -> String {
        format!(
            "the check {} in {} does not judge {}: no output names it, and it is neither installed nor part of flowpipe",
            self.found.manifest.name,
            self.found.path.display(),
            self.schemas.join(", ")
        )
    }
}

/// Starts the checks of a plugin's messages, outside of a run: those of its own library, those that its outputs name, and
/// those that belong to the program. Of several checks of one name, only the first is used.
///
/// # Errors
/// When one does not start.
pub fn load_for(library: &Catalogue, others: &Catalogue) -> Result<Validators, CheckError> {
    let services = services_alone();
    let mut validators = Validators::new();
    let mut names = BTreeSet::new();
    let stages = library.stages().iter();
    let named = named_checks(stages.flat_map(|found| &found.manifest.outputs));
    let others = checks_in(others).filter(|found| judges(found, &named));
    for found in checks_in(library).chain(others) {
        if !names.insert(found.manifest.name.as_str()) {
            continue;
        }
        let check = start(found, &services)?;
        for input in &found.manifest.inputs {
            let judges = validators.entry(input.schema.clone()).or_default();
            judges.push(check.clone());
        }
    }
    Ok(validators)
}

impl Validator for CheckPlugin {
    fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement {
        Self::judge(self, parent, message)
    }
}

/// Starts a check outside of a run.
///
/// # Errors
/// When it does not start.
pub fn start_alone(found: &Found) -> Result<Arc<CheckPlugin>, CheckError> {
    start(found, &services_alone())
}

/// What checks get from the host outside of a run.
fn services_alone() -> Arc<Services> {
    Arc::new(Services {
        clock: Clock::start(),
        pool: Pool::new(0),
        run: OnceLock::new(),
    })
}

/// The validators of a run. Hot reloads add some, and replace those whose library is another one.
pub(crate) struct Checks {
    /// What the program passes in.
    given: Validators,
    plugins: Mutex<CheckPlugins>,
}

#[derive(Default)]
struct CheckPlugins {
    /// They judge, in this order.
    active: Vec<LoadedCheck>,
    /// Newer builds judge in their place. Judgements may be in progress, so they end with the run.
    replaced: Vec<Arc<CheckPlugin>>,
    /// What the outputs of stages use.
    by_schema: HashMap<String, SchemaChecks>,
}

struct LoadedCheck {
    found: Found,
    plugin: Arc<CheckPlugin>,
}

/// Checks that have started and do not judge yet.
#[derive(Default)]
pub(crate) struct StartedChecks(Vec<LoadedCheck>);

/// The validators of one schema, as the last reload left them.
#[derive(Clone, Default)]
pub(crate) struct SchemaChecks(Arc<RwLock<SharedValidators>>);

type SharedValidators = Arc<[Arc<dyn Validator>]>;

impl Checks {
    /// The validators that the program passes in.
    pub(crate) fn new(validators: Validators) -> Self {
        Self {
            given: validators,
            plugins: Mutex::default(),
        }
    }

    /// Starts the checks of all messages that stages with these manifests may emit, unless the same library of a check
    /// judges already. They judge once they are [added](Self::add).
    ///
    /// # Errors
    /// When a check is missing or does not start.
    pub(crate) fn start(
        &self,
        manifests: &[&Manifest],
        catalogue: &Catalogue,
        services: &Arc<Services>,
    ) -> Result<StartedChecks, CheckError> {
        let mut started = Vec::new();
        for found in needed(manifests, catalogue, &self.given)? {
            let judges = |it: &LoadedCheck| it.found.is_same_code(found);
            if lock(&self.plugins).active.iter().any(judges) {
                continue;
            }
            started.push(LoadedCheck {
                found: found.clone(),
                plugin: start(found, services)?,
            });
        }
        Ok(StartedChecks(started))
    }

    /// Lets checks judge from the next message on. One replaces the check of its name.
    pub(crate) fn add(&self, started: StartedChecks) {
        let mut plugins = lock(&self.plugins);
        for check in started.0 {
            let mut active = plugins.active.iter_mut();
            match active.find(|it| it.name() == check.name()) {
                Some(before) => {
                    let before = std::mem::replace(before, check).plugin;
                    plugins.replaced.push(before);
                }
                None => plugins.active.push(check),
            }
        }
        for (schema, checks) in &plugins.by_schema {
            checks.set(self.judges(&plugins, schema));
        }
    }

    /// What changes when these are added.
    pub(crate) fn changes(&self, started: &StartedChecks) -> Vec<CheckChange> {
        let plugins = lock(&self.plugins);
        let active: BTreeSet<_> = plugins.active.iter().map(LoadedCheck::name).collect();
        let started = started.0.iter().map(LoadedCheck::name);
        let changes = started.map(|name| CheckChange {
            check: name.to_owned(),
            is_new: !active.contains(name),
        });
        changes.collect()
    }

    /// Ends the checks of a run whose workers have all ended.
    pub(crate) fn end(&self) {
        let mut plugins = lock(&self.plugins);
        let active = std::mem::take(&mut plugins.active);
        let active = active.iter().map(|it| &it.plugin);
        active
            .chain(&plugins.replaced)
            .for_each(|check| check.end());
        plugins.replaced.clear();
    }

    /// The validators of an output's schema, now and after each reload.
    pub(crate) fn of(&self, schema: &str) -> SchemaChecks {
        let mut plugins = lock(&self.plugins);
        let checks = self.find(&plugins, schema);
        let known = plugins.by_schema.entry(schema.to_owned());
        known.or_insert(checks).clone()
    }

    /// The validators of a schema that the plugin names with its message: any number of them may come.
    pub(crate) fn of_any(&self, schema: &str) -> SchemaChecks {
        self.find(&lock(&self.plugins), schema)
    }

    fn find(&self, plugins: &CheckPlugins, schema: &str) -> SchemaChecks {
        plugins.by_schema.get(schema).cloned().unwrap_or_else(|| {
            let checks = SchemaChecks::default();
            checks.set(self.judges(plugins, schema));
            checks
        })
    }

    fn judges(&self, plugins: &CheckPlugins, schema: &str) -> Vec<Arc<dyn Validator>> {
        let active = plugins.active.iter();
        let active = active.filter(|it| it.found.manifest.judges(schema));
        let active = active.map(|it| -> Arc<dyn Validator> { it.plugin.clone() });
        let given = self.given.get(schema).into_iter().flatten().cloned();
        given.chain(active).collect()
    }
}

impl LoadedCheck {
    fn name(&self) -> &str {
        &self.found.manifest.name
    }
}

impl SchemaChecks {
    /// Judges a message by all of them: one refusal refuses it, and a weak answer remains weak.
    pub(crate) fn judge(&self, parent: Option<&Message>, message: &Message) -> Judgement {
        // A judgement may take long, and a reload does not wait for it.
        let validators = self
            .0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut judgement = Judgement::Accept;
        for validator in &*validators {
            match validator.judge(parent, message) {
                Judgement::Accept => {}
                refusal @ Judgement::Refuse(_) => return refusal,
                weak @ Judgement::Weak(_) if judgement == Judgement::Accept => judgement = weak,
                Judgement::Weak(_) => {}
            }
        }
        judgement
    }

    fn set(&self, validators: Vec<Arc<dyn Validator>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = validators.into();
    }
}

/// The checks that judge the messages of stages with these manifests: those that outputs name, and those that belong to
/// the program.
fn needed<'a>(
    manifests: &[&Manifest],
    catalogue: &'a Catalogue,
    given: &Validators,
) -> Result<Vec<&'a Found>, CheckError> {
    for manifest in manifests {
        for output in &manifest.outputs {
            if let Some(check) = &output.check
                && !given.contains_key(&output.schema)
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
    let listed = listing(manifests, catalogue).into_iter();
    let needed = listed.filter(|check| check.judges);
    Ok(needed.map(|check| check.found).collect())
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
