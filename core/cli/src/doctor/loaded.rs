//! Plugin folders, and whether the plugin that needs OpenCV loads.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use flowpipe_host::catalogue::{Catalogue, Refused};
use flowpipe_terminal::counted;

use super::{Diagnosis, Severity};
use crate::user_plugins;

const FOLDERS: &str = "plugins";
const OPENCV: &str = "opencv";

const NONE_ADVICE: &str = "install flowpipe as a whole, from a package or with `./x install` in a checkout, or set \
     FLOWPIPE_PLUGIN_PATH to the folder of its plugins";
const REFUSED_ADVICE: &str = "`flowpipe plugins` lists all files with the reasons";
const HIDDEN_ADVICE: &str = "`flowpipe plugin remove NAME` removes an installed plugin";
const OPENCV_ADVICE: &str = "install OpenCV 4's core and imgproc (Debian 12: `apt-get install libopencv-core406 \
     libopencv-imgproc406`); `ldd` on the file lists the libraries that are missing";

/// The plugin folders, with what is wrong about them.
pub fn folders(folders: &[PathBuf], catalogue: &Catalogue) -> Diagnosis {
    let count = catalogue.stages().len();
    let there: Vec<_> = folders.iter().filter(|it| it.exists()).collect();
    let mut lines = vec![format!("{count} in {}", counted(there.len(), "folder"))];
    lines.extend(there.iter().map(|folder| {
        let stages = catalogue.stages().iter();
        let of_folder = stages.filter(|it| is_in(&it.path, folder)).count();
        format!("{of_folder} in {}", folder.display())
    }));
    let mut severity = Severity::Ok;
    let mut advice = Vec::new();
    let refused = |it: &&Refused| it.name.is_none();
    for it in catalogue.refused().iter().filter(refused) {
        lines.push(format!("refused {}: {}", it.path.display(), it.reason));
        severity = Severity::Warning;
        advice = vec![REFUSED_ADVICE];
    }
    for (found, hidden) in user_plugins::hidden(catalogue) {
        let (name, used) = (&found.manifest.name, found.path.display());
        let hidden = hidden.path.display();
        lines.push(format!("{name}: {used} is used in place of {hidden}"));
        severity = Severity::Warning;
        advice.push(HIDDEN_ADVICE);
    }
    if count == 0 {
        severity = Severity::Problem;
        advice.push(NONE_ADVICE);
    }
    advice.dedup();
    Diagnosis {
        check: FOLDERS,
        severity,
        found: lines.join("\n"),
        advice: (!advice.is_empty()).then(|| advice.join("; ")),
    }
}

/// Whether a plugin file is in a folder, or is what was named in place of one.
fn is_in(file: &Path, folder: &Path) -> bool {
    file == folder || file.parent() == Some(folder)
}

/// Whether vision-opencv loads, and with it OpenCV.
pub fn opencv(catalogue: &Catalogue) -> Diagnosis {
    if let Some(found) = catalogue.find("vision-opencv") {
        let found = format!("vision-opencv loads: {}", found.path.display());
        return Diagnosis::ok(OPENCV, found);
    }
    let is_vision = |it: &&Refused| {
        let name = it.path.file_stem().and_then(OsStr::to_str);
        name.is_some_and(|name| name.ends_with("vision_opencv"))
    };
    let mut unusable = catalogue.refused().iter().chain(catalogue.not_plugins());
    match unusable.find(is_vision) {
        Some(refused) => {
            let found = format!("{}: {}", refused.path.display(), refused.reason);
            Diagnosis::problem(OPENCV, found, OPENCV_ADVICE)
        }
        None => Diagnosis::problem(OPENCV, "there is no plugin vision-opencv", NONE_ADVICE),
    }
}
