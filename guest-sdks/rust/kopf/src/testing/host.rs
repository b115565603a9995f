//! What handlers of a test have around them.

use super::Posted;
use super::cluster::Cluster;
use super::requests::{Reply, Requested, Responder};
use kopf_abi::{self as abi, ANY_VERSION, Errno, Host, scope, tag, target};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

#[derive(Default)]
pub struct TestHost {
    pub state: RefCell<State>,
}

#[derive(Default)]
pub struct State {
    pub config: BTreeMap<String, String>,
    pub indices: BTreeMap<String, Vec<(Value, Value)>>,
    pub segments: BTreeMap<u32, Value>,
    pub stop_after: Option<usize>,
    pub logs: Vec<(u32, String)>,
    pub events: Vec<Posted>,
    pub waits: Vec<Duration>,
    pub requests: Vec<Requested>,
    pub responder: Option<Rc<Responder>>,
    pub cluster: Cluster,
    /// Versions and values of memos.
    memos: BTreeMap<(u32, String), (i64, Value)>,
}

impl TestHost {
    pub fn set_memo(&self, scope: u32, key: &str, value: Value) {
        self.state.borrow_mut().memos.insert((scope, key.to_owned()), (1, value));
    }

    pub fn memo(&self, scope: u32, key: &str) -> Value {
        let state = self.state.borrow();
        state.memos.get(&(scope, key.to_owned())).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Records a request and answers it.
    pub fn request(&self, call: abi::Call) -> abi::Answer {
        let requested = Requested {
            kubernetes: call.target == target::KUBERNETES,
            method: call.method,
            path: call.path,
            headers: call.headers,
            body: call.body.unwrap_or_default(),
        };
        let responder = self.state.borrow().responder.clone();
        let said = responder.and_then(|respond| respond(&requested));
        let mut state = self.state.borrow_mut();
        let reply = said.unwrap_or_else(|| match requested.kubernetes {
            true => state.cluster.serve(&requested),
            false => Reply::none("Unreachable", "the fixture reaches no servers: see Fixture::respond"),
        });
        state.requests.push(requested);
        match reply.0 {
            Ok(response) => abi::Answer { response: Some(response), ..abi::Answer::default() },
            Err(error) => abi::Answer { error: Some(error), ..abi::Answer::default() },
        }
    }
}

fn text(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

impl Host for TestHost {
    fn log(&self, _: u32, level: u32, line: &str) {
        self.state.borrow_mut().logs.push((level, line.to_owned()));
    }

    fn segment(&self, _: u32, tag: u32) -> Result<Vec<u8>, Errno> {
        let state = self.state.borrow();
        let segment = state.segments.get(&tag).filter(|value| tag == tag::DIFF || !value.is_null());
        segment.map(text).ok_or(Errno::ABSENT)
    }

    fn stopped(&self, _: u32) -> u32 {
        let state = self.state.borrow();
        let signalled = state.stop_after.is_some_and(|waits| state.waits.len() >= waits);
        if signalled { 1 << 5 } else { 0 }
    }

    fn config(&self, key: &str) -> Result<Vec<u8>, Errno> {
        self.state.borrow().config.get(key).map(|value| value.clone().into_bytes()).ok_or(Errno::ABSENT)
    }

    /// The same bytes each time: tests are repeatable.
    fn random(&self, buffer: &mut [u8]) -> Result<(), Errno> {
        buffer.iter_mut().zip(0u8..).for_each(|(byte, n)| *byte = n);
        Ok(())
    }

    fn event(&self, _: u32, event: &[u8]) -> Result<(), Errno> {
        let event: abi::Event = abi::read(event).map_err(|_| Errno::INVALID)?;
        let abi::Event { event_type, reason, message, object, backoffs, .. } = event;
        self.state.borrow_mut().events.push(Posted { event_type, reason, message, object, backoffs });
        Ok(())
    }

    fn memo_get(&self, _: u32, scope: u32, key: &str) -> Result<(i64, Vec<u8>), Errno> {
        let state = self.state.borrow();
        let (version, value) = state.memos.get(&(scope, key.to_owned())).ok_or(Errno::ABSENT)?;
        Ok((*version, text(value)))
    }

    fn memo_set(&self, _: u32, scope: u32, key: &str, value: &[u8], version: i64) -> Result<i64, Errno> {
        debug_assert!(scope == scope::OBJECT || scope == scope::OPERATOR);
        let key = (scope, key.to_owned());
        let mut state = self.state.borrow_mut();
        let present = state.memos.get(&key).map_or(0, |(version, _)| *version);
        if version != ANY_VERSION && version != present {
            return Err(Errno::CONFLICT);
        }
        if value.is_empty() {
            state.memos.remove(&key).ok_or(Errno::ABSENT)?;
            return Ok(present + 1);
        }
        let value = serde_json::from_slice(value).map_err(|_| Errno::INVALID)?;
        state.memos.insert(key, (present + 1, value));
        Ok(present + 1)
    }

    fn index(&self, _: u32, op: u32, name: &str, key: &[u8]) -> Result<Vec<u8>, Errno> {
        let state = self.state.borrow();
        let pairs = state.indices.get(name).ok_or(Errno::ABSENT)?;
        let key: Value = serde_json::from_slice(key).map_err(|_| Errno::INVALID)?;
        let values: Vec<&Value> = pairs.iter().filter(|pair| pair.0 == key).map(|pair| &pair.1).collect();
        let mut keys: Vec<&Value> = Vec::new();
        for (key, _) in pairs.iter() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Ok(text(&match op {
            abi::index::GET => json!(values),
            abi::index::KEYS => json!(keys),
            abi::index::LEN => json!(keys.len()),
            _ => json!(!values.is_empty()),
        }))
    }
}
