/* A plugin that keeps allocating. As most programs in C do, it ends itself when there is no more. */
#include <stdlib.h>

#include "../../../../examples/extism/c/kopf.h"

static char *volatile block; /* the compiler keeps the allocations */

EXPORT("kopf_register") int register_handlers(void) {
	output(TEXT("{\"sdk\":\"c\",\"handlers\":[{\"kind\":\"create\",\"id\":\"create_fn\",\"resource\":{\"args\":[\"kopfexamples\"]}}]}"));
	return 0;
}

EXPORT("kopf_start") int start(void) {
	for (;;) {
		block = malloc(1 << 20);
		if (!block) abort();
	}
}
