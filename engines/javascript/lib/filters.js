// Filters of labels, annotations and fields.

export const PRESENT = Object.freeze({ $: "PRESENT" });
export const ABSENT = Object.freeze({ $: "ABSENT" });
export const EVERYTHING = Object.freeze({ $: "EVERYTHING" });
const FUNCTION = Object.freeze({ $: "FUNCTION" });

// Combinations of functions.
export const not = (fn) => (...args) => !settled(fn(...args));
export const all = (fns) => (...args) => fns.every((fn) => settled(fn(...args)));
export const any = (fns) => (...args) => fns.some((fn) => settled(fn(...args)));
export const none = (fns) => not(any(fns));

// declared is a filter as the host gets it.
export function declared(filter) {
  if (typeof filter === "function") return FUNCTION;
  if (filter === PRESENT || filter === ABSENT) return filter;
  if (filter !== null && typeof filter === "object" && "$" in filter) return { $: "VALUE", value: filter };
  return filter;
}

// evaluate calls the function of one callback of a question.
export function evaluate(callback, functions, kwargs, resource) {
  const { option, key, values = [] } = callback;
  const fn = key === undefined ? functions[option] : functions[option][key];
  switch (option) {
    case "resource": return Boolean(settled(fn(resource)));
    case "initial_delay": return secondsOf(settled(fn(kwargs)));
    case "when": return Boolean(settled(fn(kwargs)));
  }
  return values.some((item) => Boolean(settled(fn(item.absent ? undefined : item.value, kwargs))));
}

function secondsOf(value) {
  const seconds = Number(value);
  if (!Number.isFinite(seconds)) throw new TypeError(`initialDelay: a number of seconds is expected, not ${String(value)}`);
  return seconds;
}

function settled(value) {
  if (value instanceof Promise) throw new TypeError("filters cannot wait: the function is async");
  return value;
}
