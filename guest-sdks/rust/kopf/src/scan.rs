//! Looking for parts of a JSON text without decoding it. The texts come from the
//! host and are valid; in others nothing is found.

use std::ops::Range;

/// Where the value of a key of an object is in the text. Keys with escapes are decoded.
pub fn member(text: &[u8], key: &str) -> Option<Range<usize>> {
    let mut scanner = Scanner { text, at: 0 };
    let mut found = None;
    scanner.object(|name, value| {
        if found.is_none() && is_key(name, key) {
            found = Some(value);
        }
    })?;
    found
}

/// The path of the innermost value that the position belongs to.
pub fn path_at(text: &[u8], position: usize) -> Vec<String> {
    let (mut path, mut within) = (Vec::new(), 0..text.len());
    loop {
        let part = &text[within.clone()];
        let mut next = None;
        let mut scanner = Scanner { text: part, at: 0 };
        let start = within.start;
        let mut index = 0usize;
        let mut look = |name: Option<&[u8]>, value: Range<usize>| {
            let value = start + value.start..start + value.end;
            if value.contains(&position) {
                let key = match name {
                    Some(name) => serde_json::from_slice(name).unwrap_or_default(),
                    None => index.to_string(),
                };
                next = Some((key, value));
            }
            index += 1;
        };
        match scanner.peek() {
            Some(b'{') => scanner.object(|name, value| look(Some(name), value)),
            Some(b'[') => scanner.array(|value| look(None, value)),
            _ => None,
        };
        let Some((key, value)) = next else { return path };
        path.push(key);
        within = value;
    }
}

/// Whether a key in quotes is this one.
fn is_key(quoted: &[u8], key: &str) -> bool {
    if quoted.contains(&b'\\') {
        return serde_json::from_slice::<String>(quoted).is_ok_and(|name| name == key);
    }
    quoted.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) == Some(key.as_bytes())
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at)?.is_ascii_whitespace() {
            self.at += 1;
        }
        Some(self.text[self.at])
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Walks over an object; `each` gets keys in their quotes, and values.
    fn object(&mut self, mut each: impl FnMut(&[u8], Range<usize>)) -> Option<()> {
        self.expect(b'{')?;
        while self.peek()? != b'}' {
            let key = self.value()?;
            self.expect(b':')?;
            let value = self.value()?;
            each(&self.text[key], value);
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        Some(())
    }

    /// Walks over a list.
    fn array(&mut self, mut each: impl FnMut(Range<usize>)) -> Option<()> {
        self.expect(b'[')?;
        while self.peek()? != b']' {
            each(self.value()?);
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
        Some(())
    }

    /// Goes over one value, however deep it is.
    fn value(&mut self) -> Option<Range<usize>> {
        self.peek()?;
        let (start, mut depth) = (self.at, 0usize);
        loop {
            match *self.text.get(self.at)? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth == 0 => return None,
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                _ => self.plain()?,
            }
            if depth == 0 {
                return Some(start..self.at);
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        loop {
            self.at += 1;
            match *self.text.get(self.at)? {
                b'\\' => self.at += 1,
                b'"' => break,
                _ => {}
            }
        }
        self.at += 1;
        Some(())
    }

    /// A number, true, false, or null.
    fn plain(&mut self) -> Option<()> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
            self.at += 1;
        }
        (self.at > start).then_some(())
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
