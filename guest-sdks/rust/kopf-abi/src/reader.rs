//! Reading of JSON texts piece by piece, without values in between.

/// Goes over a JSON text. The texts come from the host and are valid; the end of a broken
/// one is where it is broken.
pub struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    broken: bool,
}

impl<'a> Reader<'a> {
    /// Begins with a text.
    pub fn new(text: &'a [u8]) -> Reader<'a> {
        Reader { text, at: 0, broken: false }
    }

    /// The position in the text.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether the text is broken: it is not read any further.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Gives the text up.
    pub fn fail(&mut self) {
        self.broken = true;
        self.at = self.text.len();
    }

    /// The next byte that is not white space; 0 at the end.
    pub fn peek(&mut self) -> u8 {
        while let Some(byte) = self.text.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return *byte;
            }
            self.at += 1;
        }
        0
    }

    /// Passes over the next value if it is this object.
    pub fn skip(&mut self, object: &[u8]) -> bool {
        self.peek();
        let is_next = object.starts_with(b"{") && self.text[self.at..].starts_with(object);
        if is_next {
            self.at += object.len();
        }
        is_next
    }

    /// Enters an object or a list, by its bracket. Any other value is passed over.
    pub fn enter(&mut self, bracket: u8) -> bool {
        let is_one = self.peek() == bracket;
        if is_one {
            self.at += 1;
        } else {
            self.value();
        }
        is_one
    }

    /// The next key of the object that was entered, in its quotes; `None` at the end of the
    /// object. The value is next.
    pub fn key(&mut self) -> Option<&'a [u8]> {
        if !self.goes_on(b'}') {
            return None;
        }
        let key = self.value();
        if key.first() != Some(&b'"') || self.peek() != b':' {
            self.fail();
            return None;
        }
        self.at += 1;
        Some(key)
    }

    /// Whether there is one more value in the list that was entered. It is next.
    pub fn item(&mut self) -> bool {
        self.goes_on(b']')
    }

    fn goes_on(&mut self, end: u8) -> bool {
        if self.peek() == b',' {
            self.at += 1;
        }
        match self.peek() {
            0 => self.fail(),
            byte if byte == end => self.at += 1,
            _ => return true,
        }
        false
    }

    /// The text of the next value, however deep it is: it is passed over.
    pub fn value(&mut self) -> &'a [u8] {
        let first = self.peek();
        let start = self.at;
        let end = match first {
            b'"' => string(self.text, start),
            b'{' | b'[' => nested(self.text, start),
            _ => plain(self.text, start),
        };
        match end {
            Some(end) => self.at = end,
            None => self.fail(),
        }
        &self.text[start..self.at]
    }
}

/// The end of an object or a list; `None` if there is none.
fn nested(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match text.get(at)? {
            b'"' => {
                at = string(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// The end of a string. Most of a text is strings, so this looks at eight bytes at once.
fn string(text: &[u8], mut at: usize) -> Option<usize> {
    at += 1;
    loop {
        if let Some(bytes) = text.get(at..).and_then(<[u8]>::first_chunk) {
            let found = equal(*bytes, b'"') | equal(*bytes, b'\\');
            at += found.trailing_zeros() as usize / 8;
            if found == 0 {
                continue;
            }
        }
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The highest bits of bytes that are this one: the lowest set bit is right, others may be wrong.
fn equal(bytes: [u8; 8], byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([1; 8]);
    let zeros = u64::from_le_bytes(bytes) ^ (LOW * u64::from(byte));
    zeros.wrapping_sub(LOW) & !zeros & LOW << 7
}

/// The end of a number, true, false, or null.
fn plain(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let end = rest.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte)));
    let token = &rest[..end.unwrap_or(rest.len())];
    matches!(token, [b'-' | b'0'..=b'9', ..] | b"null" | b"true" | b"false").then_some(at + token.len())
}

/// The text in quotes; `None` if the value is not one, or is broken.
pub fn unquoted(value: &[u8]) -> Option<String> {
    let text = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if text.contains(&b'\\') {
        return serde_json::from_slice(value).ok();
    }
    String::from_utf8(text.to_vec()).ok()
}
