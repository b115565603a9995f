// What scripts get as `kopf`: the names of the reference, in the way of JavaScript.

import { fetch, kubernetes } from "kopf/calls";
import { daemon, index, on, operator, subhandler, timer, wants } from "kopf/declarations";
import * as errors from "kopf/errors";
import { ABSENT, EVERYTHING, PRESENT, all, any, none, not } from "kopf/filters";
import * as hierarchies from "kopf/hierarchies";
import { event, exception, info, warn } from "kopf/logging";
import { config, memo } from "kopf/stores";
import { execute, sleep } from "kopf/tasks";

const { TemporaryError, PermanentError, AdmissionError, CancelledError, RequestError, APIError } = errors;
const { adopt, appendOwnerReference, removeOwnerReference, label, harmonizeNaming, adjustNamespace } = hierarchies;

const kopf = Object.freeze({
  on, timer, daemon, index, subhandler, execute, sleep, operator, wants,
  TemporaryError, PermanentError, AdmissionError, CancelledError, RequestError, APIError,
  PRESENT, ABSENT, EVERYTHING, all, any, none, not,
  event, info, warn, exception, config, memo, kubernetes, fetch,
  adopt, appendOwnerReference, removeOwnerReference, label, harmonizeNaming, adjustNamespace,
});

// A misspelt name would be undefined, and an option without it, such as a filter, not given. Waits and JSON look for the last two.
export default new Proxy(kopf, {
  get(library, name) {
    if (typeof name === "string" && !(name in library) && name !== "then" && name !== "toJSON") throw new TypeError(`kopf has no ${name}`);
    return library[name];
  },
});
