//! The kinds of handlers, and which options they have. See SPEC.md of the ABI, "Handlers".

use crate::table::OPTIONS;

/// A kind of handlers.
pub struct Kind {
    /// The name of its attribute.
    pub name: &'static str,
    /// The constructor of `kopf::Handler`.
    pub constructor: &'static str,
    /// The trait that its argument must have, in `kopf::__private`.
    pub argument: &'static str,
    /// The argument, for messages.
    pub example: &'static str,
    /// Whether it is for objects.
    pub objects: bool,
}

const fn kind(name: &'static str, argument: &'static str, example: &'static str, objects: bool) -> Kind {
    Kind { name, constructor: name, argument, example, objects }
}

/// All kinds.
pub const KINDS: [Kind; 17] = [
    kind("create", "ChangeArgument", "c: Change", true),
    kind("update", "ChangeArgument", "c: Change", true),
    kind("delete", "ChangeArgument", "c: Change", true),
    kind("resume", "ChangeArgument", "c: Change", true),
    Kind { constructor: "on_field", ..kind("field", "ChangeArgument", "c: Change", true) },
    kind("event", "EventArgument", "e: Event", true),
    kind("timer", "TimerArgument", "t: Timer", true),
    kind("daemon", "DaemonArgument", "d: Daemon", true),
    kind("index", "IndexedArgument", "o: Indexed", true),
    kind("validate", "ReviewArgument", "r: Review", true),
    kind("mutate", "ReviewArgument", "r: Review", true),
    kind("convert", "ConversionArgument", "c: Conversion", true),
    kind("startup", "ActivityArgument", "a: Activity", false),
    kind("cleanup", "ActivityArgument", "a: Activity", false),
    kind("probe", "ActivityArgument", "a: Activity", false),
    kind("login", "ActivityArgument", "a: Activity", false),
    kind("background", "BackgroundArgument", "b: Background", false),
];

/// The kind of an attribute.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The parts of a selector that have names.
pub const PARTS: [&str; 7] = ["group", "version", "kind", "plural", "singular", "shortcut", "category"];

/// The options of a kind, without the parts of selectors, and without what the attribute, its
/// arguments and the function say. `operation` is short for one of the operations.
pub fn options(kind: &str) -> Vec<&'static str> {
    let mut options = Vec::new();
    for (name, kinds) in OPTIONS {
        if !kinds.contains(&kind) || matches!(*name, "kind" | "fn" | "resource") {
            continue;
        }
        if *name == "operations" {
            options.push("operation");
        }
        options.push(*name);
    }
    options
}

/// The candidate that a misspelled name is nearest to, if it is near.
pub fn nearest(name: &str, candidates: &[&'static str]) -> Option<&'static str> {
    let near = candidates.iter().map(|candidate| (distance(name, candidate), *candidate)).min()?;
    (near.0 <= 2 && near.0 < name.len()).then_some(near.1)
}

/// The number of letters to change, insert or delete.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_names_are_recognised() {
        let candidates = ["retries", "timeout", "id"];
        assert_eq!(nearest("retrys", &candidates), Some("retries"));
        assert_eq!(nearest("timout", &candidates), Some("timeout"));
        assert_eq!(nearest("colour", &candidates), None);
        assert_eq!(nearest("x", &candidates), None);
    }
}
