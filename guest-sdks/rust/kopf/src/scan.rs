//! Looking for parts of a JSON text without decoding it. The texts come from the
//! host and are valid; in others nothing is found.

use kopf_abi::{Reader, unquoted};
use std::ops::Range;

/// Where the value of a key of an object is in the text. Keys with escapes are decoded.
pub fn member(text: &[u8], key: &str) -> Option<Range<usize>> {
    let value = place(&mut before(text, key)?);
    Some(value).filter(|value| !value.is_empty())
}

/// A reader whose next value is that of a key of an object.
pub fn before<'a>(text: &'a [u8], key: &str) -> Option<Reader<'a>> {
    let mut reader = Reader::new(text);
    if !reader.enter(b'{') {
        return None;
    }
    while let Some(name) = reader.key() {
        if is_key(name, key) {
            return Some(reader);
        }
        reader.value();
    }
    None
}

/// Where the next value is, which is passed over.
fn place(reader: &mut Reader) -> Range<usize> {
    let len = reader.value().len();
    reader.at() - len..reader.at()
}

/// The path of the innermost value that the position belongs to.
pub fn path_at(text: &[u8], position: usize) -> Vec<String> {
    let (mut path, mut within) = (Vec::new(), 0..text.len());
    while let Some((key, value)) = part_at(&text[within.clone()], position - within.start) {
        path.push(key);
        within = within.start + value.start..within.start + value.end;
    }
    path
}

/// The key or the index, and the place, of the part of an object or a list that the position belongs to.
fn part_at(text: &[u8], position: usize) -> Option<(String, Range<usize>)> {
    let mut reader = Reader::new(text);
    if reader.peek() == b'{' {
        reader.enter(b'{');
        while let Some(name) = reader.key() {
            let value = place(&mut reader);
            if value.contains(&position) {
                return Some((unquoted(name).unwrap_or_default(), value));
            }
        }
        return None;
    }
    let mut index = 0usize;
    if reader.enter(b'[') {
        while reader.item() {
            let value = place(&mut reader);
            if value.contains(&position) {
                return Some((index.to_string(), value));
            }
            index += 1;
        }
    }
    None
}

/// Whether a key in quotes is this one.
fn is_key(quoted: &[u8], key: &str) -> bool {
    match quoted {
        [b'"', name @ .., b'"'] if !name.contains(&b'\\') => name == key.as_bytes(),
        _ => unquoted(quoted).is_some_and(|name| name == key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, key: &str) -> Option<String> {
        member(text.as_bytes(), key).map(|range| text[range].to_owned())
    }

    #[test]
    fn members_are_found() {
        let text = r#" {"a": {"b":"}"}, "b" :[1, {"c":2}], "n":-1.5e3,"esc\"aped":"\\\"","z":null}"#;
        let cases = [
            ("a", Some(r#"{"b":"}"}"#)),
            ("b", Some(r#"[1, {"c":2}]"#)),
            ("n", Some("-1.5e3")),
            ("esc\"aped", Some(r#""\\\"""#)),
            ("z", Some("null")),
            ("c", None),
        ];
        for (key, want) in cases {
            assert_eq!(found(text, key).as_deref(), want, "{key}");
        }
    }

    #[test]
    fn nothing_is_found_in_broken_texts() {
        let text = r#"{"a":{"b":[1,"x\"y"]},"c":1}"#;
        for cut in 0..text.len() {
            member(&text.as_bytes()[..cut], "c");
            path_at(&text.as_bytes()[..cut], cut / 2);
        }
        for text in ["", "1", "[1]", "}", "{]", "{\"a\"}", "{,}", "\u{1}", "{\"b\":[\u{1}]}", "{1:2}", "{{}:1}"] {
            assert_eq!(found(text, "a"), None, "{text}");
        }
    }

    #[test]
    fn paths_are_found() {
        let text = r#"{"a":{"b":[1,{"c":"x"}]},"d":2}"#;
        let at = |needle: &str| path_at(text.as_bytes(), text.find(needle).unwrap()).join(".");
        assert_eq!(at("\"x\""), "a.b.1.c");
        assert_eq!(at("2"), "d");
        assert_eq!(at("\"a\""), "");
    }
}
