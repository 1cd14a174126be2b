//! The references of a schema, and which schemas apply to one value.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// The most schemas that apply to one value, each time that they are reached.
const MOST_AT_ONCE: u64 = 10_000;
/// The most schemas in a row that apply to one value, each because of the one before.
const DEEPEST_AT_ONCE: usize = 64;
/// The most levels of all definitions that references point to, together: what compiles them follows them into each
/// other.
const MOST_LEVELS: usize = 2_000;
/// The most different patterns.
const MOST_PATTERNS: usize = 64;

/// The references of a schema. All lead to a place in it.
pub(super) struct References {
    /// The JSON Pointers by the text of the reference.
    pointers: HashMap<String, String>,
    has_alternatives: bool,
    /// The different patterns.
    patterns: Vec<String>,
}

/// The part of a schema's value to which another schema in it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Applies {
    /// All of it.
    Whole,
    /// The members of that name, by the members of an object of schemas.
    Named,
    /// Every member that fits the pattern, by the members of an object of schemas.
    Matching,
    /// Every member of an object.
    Members,
    /// The names of members.
    Names,
    /// The elements of a list: each, or by position for a list of schemas.
    Elements,
}

/// To what the schemas of a keyword apply. `None`: the keyword has no schemas that are applied.
pub(super) fn applies(keyword: &str) -> Option<Applies> {
    Some(match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
        | "dependencies" => Applies::Whole,
        "properties" => Applies::Named,
        "patternProperties" => Applies::Matching,
        "additionalProperties" | "unevaluatedProperties" => Applies::Members,
        "propertyNames" => Applies::Names,
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains" => {
            Applies::Elements
        }
        _ => return None,
    })
}

/// The schemas in the value of a keyword.
pub(super) fn schemas<'a>(
    keyword: &str,
    value: &'a Value,
) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
    match (keyword, value) {
        (
            "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
            Value::Object(schemas),
        ) => Box::new(
            schemas
                .values()
                .filter(|it| it.is_object() || it.is_boolean()),
        ),
        (_, Value::Array(schemas)) => Box::new(schemas.iter()),
        (_, schema) => Box::new(std::iter::once(schema)),
    }
}

/// A schema, by its place in memory: no two places hold one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct SchemaKey(*const Value);

/// How many schemas apply to one value.
#[derive(Clone, Copy)]
enum Closure {
    /// Not known yet: one of these is being counted.
    Open,
    /// So many, and so many in a row.
    Counted { all: u64, in_a_row: usize },
}

struct ReferenceWalk<'a> {
    root: &'a Value,
    references: References,
    closures: HashMap<SchemaKey, Closure>,
    patterns: HashSet<&'a str>,
}

impl References {
    /// The references of a schema.
    ///
    /// # Errors
    /// Why a schema can't be used, as a sentence for users.
    pub(super) fn of(root: &Value) -> Result<Self, String> {
        let mut walk = ReferenceWalk {
            root,
            references: Self {
                pointers: HashMap::new(),
                has_alternatives: false,
                patterns: Vec::new(),
            },
            closures: HashMap::new(),
            patterns: HashSet::new(),
        };
        let mut seen = HashSet::new();
        let mut next = vec![root];
        while let Some(schema) = next.pop() {
            let Value::Object(keywords) = schema else {
                continue;
            };
            if seen.insert(SchemaKey(schema)) {
                walk.check(keywords, std::ptr::eq(schema, root))?;
                for (keyword, value) in keywords {
                    if applies(keyword).is_some() {
                        next.extend(schemas(keyword, value));
                    }
                }
                next.extend(walk.references.target(keywords, root));
                walk.closure(schema, 0)?;
            }
        }
        walk.check_sizes()?;
        let patterns = walk.patterns.iter().map(|it| (*it).to_owned()).collect();
        Ok(Self {
            patterns,
            ..walk.references
        })
    }

    /// The different patterns of the schema.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str)
    }

    /// The schema that a schema refers to.
    pub(super) fn target<'a>(
        &self,
        keywords: &Map<String, Value>,
        root: &'a Value,
    ) -> Option<&'a Value> {
        let reference = keywords.get("$ref")?.as_str()?;
        root.pointer(self.pointers.get(reference)?)
    }

    /// Whether a value may have one of several forms.
    pub(super) fn has_alternatives(&self) -> bool {
        self.has_alternatives
    }
}

impl<'a> ReferenceWalk<'a> {
    /// Checks the keywords of one schema.
    fn check(&mut self, keywords: &'a Map<String, Value>, is_root: bool) -> Result<(), String> {
        for keyword in ["$dynamicRef", "$recursiveRef"] {
            if keywords.contains_key(keyword) {
                return Err(format!(
                    "it has {keyword}, which is not supported: use $ref"
                ));
            }
        }
        if !is_root && keywords.get("$id").is_some_and(Value::is_string) {
            return Err("a schema in it has an $id of its own, which is not supported".to_owned());
        }
        let names = ["anyOf", "oneOf"];
        self.references.has_alternatives |= names.iter().any(|name| keywords.contains_key(*name));
        self.patterns
            .extend(keywords.get("pattern").and_then(Value::as_str));
        let matching = keywords.get("patternProperties").and_then(Value::as_object);
        let matching = matching.into_iter().flatten();
        self.patterns
            .extend(matching.map(|(pattern, _)| pattern.as_str()));
        if self.patterns.len() > MOST_PATTERNS {
            return Err(format!(
                "it has more than {MOST_PATTERNS} different patterns"
            ));
        }
        let Some(reference) = keywords.get("$ref") else {
            return Ok(());
        };
        let Some(reference) = reference.as_str() else {
            return Err("it has a $ref that is no text".to_owned());
        };
        if self.references.pointers.contains_key(reference) {
            return Ok(());
        }
        let Some(pointer) = pointer(reference) else {
            return Err(format!(
                "the reference {reference:?} leads out of it: only references to its own parts (\"#/…\") are followed"
            ));
        };
        match self.root.pointer(&pointer) {
            Some(Value::Object(_) | Value::Bool(_)) => {
                self.references
                    .pointers
                    .insert(reference.to_owned(), pointer);
                Ok(())
            }
            _ => Err(format!("the reference {reference:?} leads to no schema")),
        }
    }

    /// Counts the schemas that apply to a value because this one does: how many, and how many in a row.
    fn closure(&mut self, schema: &'a Value, depth: usize) -> Result<(u64, usize), String> {
        let too_deep =
            || format!("more than {DEEPEST_AT_ONCE} schemas in a row apply to one value");
        let Value::Object(keywords) = schema else {
            return Ok((1, 1));
        };
        if depth > DEEPEST_AT_ONCE {
            return Err(too_deep());
        }
        match self.closures.insert(SchemaKey(schema), Closure::Open) {
            Some(Closure::Counted { all, in_a_row }) => {
                let counted = Closure::Counted { all, in_a_row };
                self.closures.insert(SchemaKey(schema), counted);
                return Ok((all, in_a_row));
            }
            Some(Closure::Open) => {
                return Err("a reference in it leads back to itself, for the same value".to_owned());
            }
            None => {}
        }
        let (mut all, mut deepest) = (1_u64, 0);
        let mut here: Vec<&'a Value> = Vec::new();
        for (keyword, value) in keywords {
            if applies(keyword) == Some(Applies::Whole) {
                here.extend(schemas(keyword, value));
            }
        }
        // Checked only now: this schema may be reached before its own turn.
        self.check(keywords, std::ptr::eq(schema, self.root))?;
        here.extend(self.references.target(keywords, self.root));
        for schema in here {
            let (more, in_a_row) = self.closure(schema, depth + 1)?;
            all = all.saturating_add(more);
            deepest = deepest.max(in_a_row);
        }
        let in_a_row = deepest + 1;
        if all > MOST_AT_ONCE {
            return Err(format!(
                "more than {MOST_AT_ONCE} schemas apply to one value"
            ));
        }
        if in_a_row > DEEPEST_AT_ONCE {
            return Err(too_deep());
        }
        self.closures
            .insert(SchemaKey(schema), Closure::Counted { all, in_a_row });
        Ok((all, in_a_row))
    }

    fn check_sizes(&self) -> Result<(), String> {
        let pointers: HashSet<&String> = self.references.pointers.values().collect();
        let targets = pointers
            .iter()
            .filter_map(|pointer| self.root.pointer(pointer));
        let levels: usize = targets.map(levels).sum::<usize>() + levels(self.root);
        match levels > MOST_LEVELS {
            true => Err(format!(
                "its definitions have {levels} levels in all, and may have {MOST_LEVELS}"
            )),
            false => Ok(()),
        }
    }
}

/// The levels of a value. The reader of JSON limits them.
fn levels(value: &Value) -> usize {
    let deepest = match value {
        Value::Object(members) => members.values().map(levels).max(),
        Value::Array(elements) => elements.iter().map(levels).max(),
        _ => return 1,
    };
    deepest.unwrap_or_default() + 1
}

/// The JSON Pointer of a reference to a place in the same schema. `None`: it leads elsewhere.
fn pointer(reference: &str) -> Option<String> {
    let fragment = reference.strip_prefix('#')?;
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let [first, more @ ..] = rest {
        match (first, more) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                let byte = digit(high)? * 16 + digit(low)?;
                bytes.push(u8::try_from(byte).ok()?);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok()
}
