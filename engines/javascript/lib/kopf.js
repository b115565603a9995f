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

export default kopf;
