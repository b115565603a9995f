// A plugin that keeps allocating: `new` without exceptions ends it.
#include <vector>

extern "C" {
#include "../../../../examples/extism/c/kopf.h"
}

extern "C" EXPORT("kopf_register") int register_handlers() {
	output(TEXT("{\"sdk\":\"cpp\",\"handlers\":[{\"kind\":\"create\",\"id\":\"create_fn\",\"resource\":{\"args\":[\"kopfexamples\"]}}]}"));
	return 0;
}

extern "C" EXPORT("kopf_start") int start() {
	std::vector<std::vector<char>> all;
	for (;;) all.emplace_back(1 << 20, 7);
}
