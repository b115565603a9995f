// A handler for each item of a list: each has its own progress, retries and result.

kopf.on.create("kopfexamples", function create_fn({ spec }) {
  for (const item of spec.items ?? []) {
    kopf.subhandler({ id: item }, function greet({ retry }) {
      if (item === "late" && retry === 0) throw new kopf.TemporaryError("once more", 1);
      return `hello, ${item}`;
    });
  }
});
