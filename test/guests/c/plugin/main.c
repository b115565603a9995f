/* A plugin of Extism that does what objects tell it: spec.url is requested, spec.spin
 * computes for ever. */
#include "../../../../examples/extism/c/kopf.h"

HOST(http_request) u64 http_request(u64 request, u64 body);
HOST(http_status_code) u32 http_status_code(void);
HOST(length) u64 block_length(u64);

static char in[1 << 16], out[4 << 10];

EXPORT("kopf_register") int register_handlers(void) {
	output(TEXT("{\"sdk\":\"c\",\"handlers\":[{\"kind\":\"create\",\"id\":\"create_fn\",\"errors\":\"PERMANENT\","
		"\"resource\":{\"args\":[\"kopfexamples\"]}}]}"));
	return 0;
}

static void put_number(Buffer *b, u64 n) {
	char digit = (char)('0' + n % 10);
	if (n >= 10) put_number(b, n / 10);
	put(b, (Text){&digit, 1});
}

EXPORT("kopf_start") int start(void) {
	Buffer buffer = {in, 0, sizeof in}, answer = {out, 0, sizeof out};
	Text spec = get(get(input(&buffer), TEXT("body")), TEXT("spec")), url = get(spec, TEXT("url"));
	volatile u32 spins = get(spec, TEXT("spin")).size;
	while (spins) {
	}
	if (!url.size) return 1;
	put(&answer, TEXT("{\"url\":"));
	put(&answer, url);
	put(&answer, TEXT("}"));
	u64 body = http_request(to_host((Text){answer.at, answer.size}), 0);
	answer.size = 0;
	put(&answer, TEXT("{\"step\":\"done\",\"result\":{\"status\":"));
	put_number(&answer, http_status_code());
	put(&answer, TEXT(",\"bytes\":"));
	put_number(&answer, block_length(body));
	put(&answer, TEXT("}}"));
	output((Text){answer.at, answer.size});
	return 0;
}
