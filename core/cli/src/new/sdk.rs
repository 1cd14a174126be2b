//! Where a plugin in Rust finds the SDK, which is not on crates.io yet: in a checkout of flowpipe that the user named,
//! or in its repository.
//!
//! The path of a checkout gets into a plugin only when the user names it, or, as a relative path, when the plugin is
//! created within the checkout: nobody else has this path.

use std::path::{Component, Path, PathBuf};

/// The crate within a checkout.
const PLUGIN: &str = "core/plugin";
/// Names a checkout, as `--sdk` does.
pub const VARIABLE: &str = "FLOWPIPE_SDK";

/// Where the SDK is.
#[derive(Debug, PartialEq, Eq)]
pub enum Sdk {
    /// In a checkout that the user named.
    Checkout(PathBuf),
    /// In the checkout that contains the plugin.
    Around {
        /// The checkout.
        root: PathBuf,
        /// The folder in which the plugin's folder is created.
        folder: PathBuf,
    },
    /// Only in the repository.
    Repository(&'static str),
}

impl Sdk {
    /// The checkout at a path. `None`: it is not a checkout.
    pub fn at(path: &Path) -> Option<Self> {
        root(path).map(Self::Checkout)
    }

    /// The checkout around a folder, or else the repository.
    pub fn near(folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap_or_default();
        match folder.ancestors().find_map(root) {
            Some(root) => Self::Around { root, folder },
            None => Self::Repository(env!("CARGO_PKG_REPOSITORY")),
        }
    }

    fn root(&self) -> Option<&Path> {
        match self {
            Self::Checkout(root) | Self::Around { root, .. } => Some(root),
            Self::Repository(_) => None,
        }
    }

    /// Whether every folder in this one is a crate of the checkout's workspace.
    pub fn has_members_in(&self, folder: &Path) -> bool {
        let Some(root) = self.root() else {
            return false;
        };
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| {
            ["core", "plugins"]
                .iter()
                .any(|part| root.join(part) == folder)
        })
    }

    /// Its dependency entry in Cargo.toml, below a comment.
    pub fn dependency(&self) -> String {
        let by_path = |path: PathBuf| {
            let path = path.join(PLUGIN).display().to_string();
            format!("flowpipe-plugin = {{ path = {} }}", toml::Value::from(path))
        };
        match self {
            Self::Checkout(root) => format!(
                "# The SDK in the checkout that --sdk or {VARIABLE} named. Others build it with:\n# {}\n{}",
                in_repository(env!("CARGO_PKG_REPOSITORY")),
                by_path(root.clone())
            ),
            Self::Around { root, folder } => format!(
                "# The SDK in the checkout around this folder.\n{}",
                by_path(up_to(root, folder))
            ),
            Self::Repository(url) => format!(
                "# The SDK is not on crates.io yet. In a checkout of it: {{ path = \"CHECKOUT/{PLUGIN}\" }}\n{}",
                in_repository(url)
            ),
        }
    }

    /// Its lock file.
    pub fn lock(&self) -> Option<Vec<u8>> {
        std::fs::read(self.root()?.join("Cargo.lock")).ok()
    }
}

/// The root of a checkout.
fn root(path: &Path) -> Option<PathBuf> {
    let is_one = path.join(PLUGIN).join("Cargo.toml").is_file();
    let path = path.canonicalize().ok()?;
    is_one.then_some(path)
}

fn in_repository(url: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("flowpipe-plugin = {{ git = \"{url}\", version = \"{version}\" }}")
}

/// The path from a plugin in `folder` up to `root`, which is above it.
fn up_to(root: &Path, folder: &Path) -> PathBuf {
    let below = folder.strip_prefix(root).unwrap_or(folder);
    // One more, for the plugin's own folder.
    let depth = below.components().count() + 1;
    std::iter::repeat_n(Component::ParentDir, depth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sdk: &Sdk) -> toml::Table {
        let text = sdk.dependency();
        let (comment, _) = text.split_once('\n').unwrap();
        assert!(comment.starts_with("# "), "{text}");
        let parsed: toml::Table = toml::from_str(&text).unwrap();
        parsed["flowpipe-plugin"].as_table().unwrap().clone()
    }

    fn checkout() -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.canonicalize().unwrap()
    }

    #[test]
    fn a_named_checkout_is_a_path() {
        let sdk = Sdk::at(&checkout()).unwrap();
        let path = checkout().join(PLUGIN).display().to_string();
        assert_eq!(entry(&sdk)["path"].as_str(), Some(&*path));
        assert!(sdk.lock().is_some());
        assert!(sdk.has_members_in(&checkout().join("plugins")));
        assert!(!sdk.has_members_in(&checkout()));
        assert_eq!(Sdk::at(&checkout().join("core")), None);
    }

    #[test]
    fn within_a_checkout_the_path_is_relative() {
        let sdk = Sdk::near(&checkout().join("core/cli"));
        assert_eq!(entry(&sdk)["path"].as_str(), Some("../../../core/plugin"));
        let sdk = Sdk::near(&checkout());
        assert_eq!(entry(&sdk)["path"].as_str(), Some("../core/plugin"));
    }

    /// This program was built in a checkout, and runs from one: elsewhere nobody has it.
    #[test]
    fn elsewhere_it_is_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let sdk = Sdk::near(folder.path());
        assert_eq!(sdk, Sdk::Repository(env!("CARGO_PKG_REPOSITORY")));
        let entry = entry(&sdk);
        assert_eq!(entry["git"].as_str(), Some(env!("CARGO_PKG_REPOSITORY")));
        assert_eq!(entry["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
        assert!(sdk.lock().is_none() && !sdk.has_members_in(folder.path()));
    }
}
