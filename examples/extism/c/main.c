#include "kopf.h"

static char in[1 << 20], out[64 << 10], line[4 << 10];

EXPORT("kopf_register") int register_handlers(void) {
	output(TEXT("{\"sdk\":\"c\",\"handlers\":["
		"{\"kind\":\"create\",\"id\":\"create_fn\",\"fn\":\"create_fn\",\"resource\":{\"args\":[\"kopfexamples\"]}},"
		"{\"kind\":\"update\",\"id\":\"update_fn\",\"fn\":\"update_fn\",\"resource\":{\"args\":[\"kopfexamples\"]},\"backoff\":0.1}]}"));
	return 0;
}

static void create_fn(Text message) {
	Buffer log = {line, 0, sizeof line}, answer = {out, 0, sizeof out};
	put(&log, TEXT("a new object field="));
	put(&log, inner(get(get(get(message, TEXT("body")), TEXT("spec")), TEXT("field"))));
	info((Text){log.at, log.size});
	put(&answer, TEXT("{\"step\":\"done\",\"patch\":{\"status\":{\"seen\":true}},\"result\":{\"message\":\"hello, "));
	put(&answer, inner(get(message, TEXT("name"))));
	put(&answer, TEXT("\"}}"));
	output((Text){answer.at, answer.size});
}

static void update_fn(Text message) {
	if (number(get(message, TEXT("retry"))) == 0)
		output(TEXT("{\"step\":\"done\",\"error\":{\"kind\":\"temporary\",\"message\":\"not yet\",\"delay\":0.1}}"));
	else
		output(TEXT("{\"step\":\"done\",\"error\":{\"kind\":\"permanent\",\"message\":\"never\"}}"));
}

EXPORT("kopf_start") int start(void) {
	Buffer buffer = {in, 0, sizeof in};
	Text message = input(&buffer);
	switch (number(get(message, TEXT("handler")))) {
	case 0: create_fn(message); return 0;
	case 1: update_fn(message); return 0;
	}
	return 1;
}
