//! Texts of one line, for people.

/// Checks that a text is a line of at most so many characters. `what`: what it is, such as `name`.
///
/// # Errors
/// Why it is none.
pub(crate) fn check(what: &str, text: &str, longest: usize) -> Result<(), String> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(format!("an empty {what}"));
    }
    if length > longest {
        return Err(format!(
            "a {what} of {length} characters, the most are {longest}"
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("a {what} with control characters"));
    }
    Ok(())
}
