//! Where a plugin in Rust finds the SDK, which is in no registry: in a checkout of flowpipe, or in its repository.

use std::path::{Path, PathBuf};

/// The crate within a checkout.
const PLUGIN: &str = "core/plugin";

/// Where the SDK is.
#[derive(Debug, PartialEq, Eq)]
pub enum Sdk {
    /// In a checkout of flowpipe.
    Checkout(PathBuf),
    /// Only in the repository.
    Repository(&'static str),
}

impl Sdk {
    /// The checkout at a path. `None`: it is not a checkout.
    pub fn at(path: &Path) -> Option<Self> {
        let is_one = path.join(PLUGIN).join("Cargo.toml").is_file();
        let path = path.canonicalize().ok()?;
        is_one.then_some(Self::Checkout(path))
    }

    /// The nearest checkout: of a folder, of this program, or where this program was built.
    pub fn near(folder: &Path) -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        let built = Path::new(env!("CARGO_MANIFEST_DIR"));
        let starts = [folder, &program, built];
        let mut around = starts.iter().flat_map(|start| start.ancestors());
        around
            .find_map(Self::at)
            .unwrap_or(Self::Repository(env!("CARGO_PKG_REPOSITORY")))
    }

    /// Whether every folder in this one is a crate of the checkout's workspace.
    pub fn has_members_in(&self, folder: &Path) -> bool {
        let Self::Checkout(path) = self else {
            return false;
        };
        let folder = folder.canonicalize();
        folder.is_ok_and(|folder| {
            ["core", "plugins"]
                .iter()
                .any(|part| path.join(part) == folder)
        })
    }

    /// Its dependency entry in Cargo.toml.
    pub fn dependency(&self) -> String {
        match self {
            Self::Checkout(path) => {
                let path = path.join(PLUGIN).display().to_string();
                format!("{{ path = {} }}", toml::Value::from(path))
            }
            Self::Repository(url) => format!("{{ git = \"{url}\" }}"),
        }
    }

    /// Its lock file.
    pub fn lock(&self) -> Option<Vec<u8>> {
        match self {
            Self::Checkout(path) => std::fs::read(path.join("Cargo.lock")).ok(),
            Self::Repository(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_found_from_its_folders() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let Some(Sdk::Checkout(found)) = Sdk::at(&root) else {
            panic!("the tests run in a checkout");
        };
        assert_eq!(
            Sdk::near(&found.join("core/cli/src")),
            Sdk::Checkout(found.clone())
        );
        assert_eq!(Sdk::at(&found.join("core")), None);
        let sdk = Sdk::Checkout(found.clone());
        assert!(sdk.has_members_in(&found.join("plugins")) && !sdk.has_members_in(&found));
        let dependency = Sdk::Checkout(found).dependency();
        let parsed: toml::Table = toml::from_str(&format!("it = {dependency}")).unwrap();
        assert!(
            parsed["it"]["path"]
                .as_str()
                .unwrap()
                .ends_with("core/plugin")
        );
        let url = Sdk::Repository("https://example.org/flowpipe").dependency();
        assert_eq!(url, "{ git = \"https://example.org/flowpipe\" }");
    }
}
