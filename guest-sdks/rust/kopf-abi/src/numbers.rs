//! Numbers that an edit has not changed keep their texts, though not every language holds them exactly.

use crate::reader::{Reader, unquoted};
use std::collections::BTreeMap;

/// How deep values are compared. What is deeper is as it was written.
const DEEP: usize = 100;

/// The text after an edit, with the numbers of the text before it where they are the same: that is what the
/// function says of two different texts of numbers. Otherwise, each edit of an object would change all numbers
/// in it that were rounded when it was read.
pub fn keep_numbers(before: &[u8], after: &[u8], is_same: fn(&[u8], &[u8]) -> bool) -> Vec<u8> {
    let mut kept = Vec::with_capacity(after.len());
    Edit { is_same, kept: &mut kept }.value(before, after, DEEP);
    kept
}

struct Edit<'a> {
    is_same: fn(&[u8], &[u8]) -> bool,
    kept: &'a mut Vec<u8>,
}

impl Edit<'_> {
    fn value(&mut self, before: &[u8], after: &[u8], deep: usize) {
        match (Reader::new(before).peek(), Reader::new(after).peek()) {
            (b'{', b'{') if deep > 0 && before != after => self.object(before, after, deep - 1),
            (b'[', b'[') if deep > 0 && before != after => self.list(before, after, deep - 1),
            (b'-' | b'0'..=b'9', b'-' | b'0'..=b'9') if (self.is_same)(before, after) => {
                self.kept.extend_from_slice(before);
            }
            _ => self.kept.extend_from_slice(after),
        }
    }

    fn object(&mut self, before: &[u8], after: &[u8], deep: usize) {
        let mut members = BTreeMap::new();
        let (mut old, mut new) = (Reader::new(before), Reader::new(after));
        old.enter(b'{');
        while let Some(key) = old.key() {
            members.insert(unquoted(key), old.value());
        }
        new.enter(b'{');
        self.kept.push(b'{');
        let mut comma = false;
        while let Some(key) = new.key() {
            if std::mem::replace(&mut comma, true) {
                self.kept.push(b',');
            }
            self.kept.extend_from_slice(key);
            self.kept.push(b':');
            self.part(members.get(&unquoted(key)).copied(), new.value(), deep);
        }
        self.kept.push(b'}');
    }

    fn list(&mut self, before: &[u8], after: &[u8], deep: usize) {
        let (mut old, mut new) = (Reader::new(before), Reader::new(after));
        let mut more = old.enter(b'[');
        new.enter(b'[');
        self.kept.push(b'[');
        let mut comma = false;
        while new.item() {
            if std::mem::replace(&mut comma, true) {
                self.kept.push(b',');
            }
            more = more && old.item();
            self.part(more.then(|| old.value()), new.value(), deep);
        }
        self.kept.push(b']');
    }

    fn part(&mut self, before: Option<&[u8]>, after: &[u8], deep: usize) {
        match before {
            Some(before) => self.value(before, after, deep),
            None => self.kept.extend_from_slice(after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a language that has floats only.
    fn float(text: &[u8]) -> f64 {
        std::str::from_utf8(text).unwrap().parse().unwrap()
    }

    fn kept(before: &str, after: &str) -> String {
        let kept = keep_numbers(before.as_bytes(), after.as_bytes(), |old, new| float(old) == float(new));
        String::from_utf8(kept).unwrap()
    }

    #[test]
    fn numbers_that_were_only_rounded_stay() {
        let before =
            r#"{"id": 9007199254740993, "a": {"list": [1.0, 9007199254740993, {"x": 2e2}], "n": 5}, "\u003c": 1.0}"#;
        let after = r#"{"<":1,"a":{"list":[1,9007199254740992,{"x":200},9007199254740992],"n":6},"id":9007199254740992,"new":1}"#;
        let want = r#"{"<":1.0,"a":{"list":[1.0,9007199254740993,{"x":2e2},9007199254740992],"n":6},"id":9007199254740993,"new":1}"#;
        assert_eq!(kept(before, after), want);
    }

    #[test]
    fn other_values_are_those_of_the_edit() {
        for (before, after) in [
            ("{}", "[]"),
            ("[1]", "[]"),
            ("1", "\"1\""),
            ("{\"a\":1}", "{\"a\":null}"),
            ("[[1]]", "[{\"a\":1}]"),
            ("", "{}"),
        ] {
            assert_eq!(kept(before, after), after);
        }
        let (before, after) =
            ("[".repeat(5000) + "1.0" + &"]".repeat(5000), "[".repeat(5000) + "1" + &"]".repeat(5000));
        assert_eq!(kept(&before, &after), after);
    }
}
