//! `flowpipe plugin install FILE|DIR`: copies plugins to the folder of installed plugins, once `plugin check` passes.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_output::{OutputFile, is_same, open_regular};
use flowpipe_terminal::{escape, escaped, stdout};

use crate::args::{Global, PluginCheck, PluginInstall};
use crate::commands::plugin_check;
use crate::exit::{Ended, Failure};
use crate::outputs::failure;
use crate::{plugins, processes, user_plugins};

/// A larger file is not installed.
const MAX_BYTES: u64 = 1 << 30;

/// A plugin file on its way into the folder.
struct Copied {
    /// The file that the user named.
    from: PathBuf,
    /// Where it is installed.
    to: PathBuf,
    /// Hidden in the folder, until it is whole and checked. Dropped, it is removed.
    file: OutputFile,
    /// The stages of the copy.
    stages: Vec<Found>,
}

pub fn run(global: &Global, args: &PluginInstall) -> Result<Ended, Failure> {
    let Some(folder) = user_plugins::folder() else {
        return Err(Failure::Usage(
            "this system reports no folder for the user's data: set the variable HOME".to_owned(),
        ));
    };
    user_plugins::create(&folder).map_err(failure(&folder))?;
    let installed = Catalogue::scan(std::slice::from_ref(&folder), &processes::scanner());
    if let Some(refused) = installed.refused().iter().find(|it| it.path == folder) {
        let text = format!("{}: {}", folder.display(), refused.reason);
        return Err(Failure::Usage(text));
    }
    let mut copied = Vec::new();
    for file in files(&args.path)? {
        copied.push(Copied::of(file, &folder)?);
    }
    let replaced = replaced(&copied, &installed)?;
    if !replaced.texts.is_empty() && !args.force {
        let texts = replaced.texts.join("\n");
        return Err(Failure::Usage(format!(
            "{texts}\nnothing is installed: --force does it all the same"
        )));
    }
    for it in &copied {
        let checked = plugin_check::run(global, &it.check(args))?;
        if checked != Ended::Done {
            let from = escaped(it.from.display());
            flowpipe_terminal::eprintln!("flowpipe: {from}: a check failed: nothing is installed");
            return Ok(checked);
        }
    }
    let mut out = stdout();
    for it in copied {
        let (to, stages) = (it.to.clone(), it.stages);
        it.file.commit().map_err(failure(&to))?;
        for Found { manifest, .. } in stages {
            let (name, version) = (escape(&manifest.name), escape(&manifest.version));
            writeln!(out, "installed {name} {version}: {}", escaped(to.display()))?;
        }
    }
    for old in replaced.files {
        std::fs::remove_file(&old).map_err(failure(&old))?;
        writeln!(out, "removed {}", escaped(old.display()))?;
    }
    Ok(Ended::Done)
}

/// The plugin files that the user named: a file, or all plugins in a folder.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        crate::input::is_regular(path).map_err(failure(path))?;
        return Ok(vec![path.to_owned()]);
    }
    let found = Catalogue::scan(&[path.to_owned()], &processes::scanner());
    if let Some(refused) = found.refused().first() {
        let text = format!("{}: {}", refused.path.display(), refused.reason);
        return Err(Failure::Run(text));
    }
    let mut files: Vec<_> = found.stages().iter().map(|it| it.path.clone()).collect();
    files.dedup();
    match files.is_empty() {
        true => Err(Failure::Usage(format!(
            "{}: there is no plugin in this folder",
            path.display()
        ))),
        false => Ok(files),
    }
}

impl Copied {
    /// Copies a file into the folder, under a hidden name.
    fn of(from: PathBuf, folder: &Path) -> Result<Self, Failure> {
        let Some(name) = from.file_name() else {
            let text = format!("{}: this is no name of a file", from.display());
            return Err(Failure::Usage(text));
        };
        let has_extension = Path::new(name)
            .extension()
            .is_some_and(|it| it == std::env::consts::DLL_EXTENSION);
        if !has_extension {
            return Err(Failure::Usage(format!(
                "{}: the names of plugin files end in {} on this system",
                from.display(),
                std::env::consts::DLL_SUFFIX
            )));
        }
        let to = folder.join(name);
        if is_same(&from, &to) {
            let text = format!("{}: it is installed already", from.display());
            return Err(Failure::Usage(text));
        }
        let file = copy(&from, &to)?;
        let at = file.lies_at().unwrap_or(&to);
        let catalogue = Catalogue::of_file(at, &processes::scanner());
        if let Some(refused) = catalogue.refused().first() {
            let text = format!("{}: {}", from.display(), refused.reason);
            return Err(Failure::Run(text));
        }
        let stages = catalogue.stages().to_vec();
        Ok(Self {
            from,
            to,
            file,
            stages,
        })
    }

    /// The checks of the copy: the file that the user named may change meanwhile.
    fn check(&self, args: &PluginInstall) -> PluginCheck {
        PluginCheck {
            file: self.file.lies_at().unwrap_or(&self.to).to_owned(),
            stage: args.stage.clone(),
            config: args.config.clone(),
            only: Vec::new(),
            time: args.time.clone(),
            json: false,
            within: None,
        }
    }
}

/// Copies a file beside its place. Only the user can write to the copy.
fn copy(from: &Path, to: &Path) -> Result<OutputFile, Failure> {
    let source = open_regular(from).map_err(failure(from))?;
    let mut file = crate::outputs::create_whole(to)?;
    let copied = io::copy(&mut source.take(MAX_BYTES + 1), &mut file).map_err(failure(to))?;
    if copied > MAX_BYTES {
        let text = format!(
            "{}: this is larger than the {MAX_BYTES} bytes that a plugin may have",
            from.display()
        );
        return Err(Failure::Usage(text));
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        let set = file.file().and_then(|it| it.set_permissions(mode));
        set.map_err(failure(to))?;
    }
    Ok(file)
}

/// What an installation replaces.
#[derive(Default)]
struct Replaced {
    /// Each, as a sentence.
    texts: Vec<String>,
    /// Files of other names, which are removed.
    files: Vec<PathBuf>,
}

/// What these files replace, and which of the program's plugins they hide.
///
/// # Errors
/// When two of them have a stage of the same name.
fn replaced(copied: &[Copied], installed: &Catalogue) -> Result<Replaced, Failure> {
    let packaged = Catalogue::scan(&plugins::beside_program(), &processes::scanner());
    let mut replaced = Replaced::default();
    for (index, it) in copied.iter().enumerate() {
        let to = it.to.display();
        if it.to.exists() {
            let of = stages_of(installed, &it.to);
            replaced.texts.push(format!("{to} would be replaced{of}"));
        }
        for name in it.stages.iter().map(|found| &found.manifest.name) {
            let mut before = copied[..index].iter();
            if let Some(other) = before.find(|other| other.has(name)) {
                let (one, other) = (other.from.display(), it.from.display());
                let text = format!("{one} and {other} both contain {name}: install one of them");
                return Err(Failure::Usage(text));
            }
            if let Some(old) = installed.find(name)
                && copied.iter().all(|new| new.to != old.path)
                && !replaced.files.contains(&old.path)
            {
                let (file, of) = (old.path.display(), stages_of(installed, &old.path));
                let text = format!("{file} would be removed{of}");
                replaced.texts.push(text);
                replaced.files.push(old.path.clone());
            }
            if let Some(hidden) = packaged.find(name) {
                let file = hidden.path.display();
                let text = format!("{name} would be used in place of the program's own, {file}");
                replaced.texts.push(text);
            }
        }
    }
    Ok(replaced)
}

impl Copied {
    fn has(&self, stage: &str) -> bool {
        self.stages.iter().any(|it| it.manifest.name == stage)
    }
}

/// The stages of an installed file, in parentheses.
fn stages_of(installed: &Catalogue, file: &Path) -> String {
    let of_file = installed.stages().iter().filter(|it| it.path == file);
    let names: Vec<_> = of_file
        .map(|it| format!("{} {}", it.manifest.name, it.manifest.version))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    }
}
