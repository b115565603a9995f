package clients

import (
	"net/http"
	"net/url"

	"github.com/kopf-wasm/kopf/reactor/apipath"
)

// draft is a request to any cluster.
type draft struct {
	method, target string
	content        content
}

// content describes the body of a request and the wanted response.
type content struct {
	kind   string // content type of the body
	body   []byte
	accept string      // empty: JSON
	header http.Header // all headers; nil: those of the fields above
}

// ofJSON is the content type of objects.
const ofJSON = "application/json"

// toRead makes the draft of a request without a body.
func toRead(target string) draft { return draft{method: http.MethodGet, target: target} }

// toWrite makes the draft of a request with a body.
func toWrite(method string, path apipath.Path, contentType string, body []byte) draft {
	return draft{method, string(path), content{kind: contentType, body: body}}
}

// with appends a query to a path.
func with(path apipath.Path, query url.Values) string {
	if len(query) == 0 {
		return string(path)
	}
	return string(path) + "?" + query.Encode()
}
