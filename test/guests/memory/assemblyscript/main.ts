// A plugin that keeps allocating.
import { Change, Outcome, on } from "./kopf";
export { kopf_register, kopf_start } from "./kopf";

on("create", "create_fn", "kopfexamples", (_c: Change): Outcome => {
  const all: Array<StaticArray<u8>> = [];
  while (all.length < i32.MAX_VALUE) all.push(new StaticArray<u8>(1 << 20));
  return new Outcome();
});
