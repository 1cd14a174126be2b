//! Parts of a pipeline's text that come from elsewhere, such as the command line. Their errors name where they were
//! given.

use super::error::Findings;
use super::source::Span;
use super::{ConfigError, NamedFiles, Plugins, SourceFile, Surroundings, read_into};
use crate::pipeline::Pipeline;

/// Where a part of a text was given. Of several that contain an error, the first one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The part.
    pub span: Span,
    /// How it was given, for messages: `--solver solver-search`.
    pub flag: String,
}

impl Origin {
    /// Whether an error there is about this part.
    pub(super) fn contains(&self, span: &Span) -> bool {
        self.span.start <= span.start && span.end <= self.span.end
    }
}

/// Reads the text of a pipeline that a program composed of values with these origins.
///
/// # Errors
/// All errors, at least one, in the order of the text.
pub fn read_composed(
    name: &str,
    text: &str,
    origins: &[Origin],
    plugins: &dyn Plugins,
    files: &dyn NamedFiles,
) -> Result<Pipeline, Vec<ConfigError>> {
    let findings = Findings::new(SourceFile::new(name, text)).with_origins(origins.to_vec());
    let given = Surroundings {
        plugins,
        settings: &[],
        files,
        tests: None,
    };
    let (pipeline, _) = read_into(findings, text, given)?;
    Ok(pipeline)
}

#[cfg(test)]
mod tests {
    use super::super::NoFiles;
    use super::super::testing::plugins;
    use super::*;

    /// The errors of a pipeline whose solver and config were given as flags.
    #[track_caller]
    fn errors(solver: &str, config: &str) -> Vec<String> {
        let mut text = String::from("[stages.frames]\nplugin = \"capture-files\"\n");
        text += "config = { paths = [\"a.png\"] }\n[stages.vision]\nplugin = \"vision-opencv\"\n";
        text += "from = \"frames\"\n[stages.solver]\nfrom = \"vision\"\n";
        let mut origins = Vec::new();
        for (key, flag, value) in [
            ("plugin", "--solver", solver),
            ("config", "--config", config),
        ] {
            text += &format!("{key} = ");
            origins.push(Origin {
                span: text.len()..text.len() + value.len(),
                flag: flag.to_owned(),
            });
            text += &format!("{value}\n");
        }
        let errors = read_composed("flags", &text, &origins, &plugins(), &NoFiles).unwrap_err();
        errors.iter().map(ConfigError::to_string).collect()
    }

    #[test]
    fn errors_name_the_flag() {
        let unknown = errors("\"solver-searhc\"", "{}");
        assert_eq!(unknown, ["--solver: unknown plugin `solver-searhc`"]);
        let key = errors("\"solver-search\"", "{ no_such_key = 1 }");
        assert_eq!(key.len(), 1, "{key:?}");
        assert!(
            key[0].starts_with("--config: unknown key `no_such_key`"),
            "{key:?}"
        );
        let both = errors("\"solver-searhc\"", "3");
        assert!(both[0].starts_with("--solver: "), "{both:?}");
    }
}
