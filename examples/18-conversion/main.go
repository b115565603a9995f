// Command 18-conversion converts objects between two versions of their resource:
// v1 has a size in words, v2 has a number of gigabytes.
package main

import (
	"fmt"
	"strconv"

	"github.com/kopf-wasm/kopf/guest-sdks/go/kopf"
)

func init() {
	kopf.OnConvert("databases.data.example.com", "v1", "v2", toNumber, kopf.ID("toNumber"))
	kopf.OnConvert("databases.data.example.com", "v2", "v1", toWords, kopf.ID("toWords"))
}

var sizes = map[string]int64{"small": 10, "medium": 100, "large": 1000}

// odd keeps a number that v1 has no word for, so that it survives the way back.
const odd = "example.com/gigabytes"

func toNumber(c *kopf.Conversion) error {
	spec, notes := kopf.Nested(c.Object, "spec"), kopf.Nested(c.Object, "metadata", "annotations")
	if spec["size"] == nil {
		return nil // such as an object that was stored before the conversion
	}
	word, _ := spec["size"].(string)
	gigabytes, known := sizes[word]
	if word == "custom" {
		kept, _ := notes[odd].(string)
		number, err := strconv.ParseInt(kept, 10, 64)
		gigabytes, known = number, err == nil
	}
	if !known {
		return kopf.Permanent(fmt.Sprintf("unknown size %q", word))
	}
	spec["gigabytes"] = gigabytes
	delete(spec, "size")
	delete(notes, odd)
	return nil
}

func toWords(c *kopf.Conversion) error {
	spec := kopf.Nested(c.Object, "spec")
	if spec["gigabytes"] == nil {
		return nil
	}
	gigabytes := kopf.ViewOf(spec["gigabytes"]).Int()
	spec["size"] = "custom"
	for word, n := range sizes {
		if n == int64(gigabytes) {
			spec["size"] = word
		}
	}
	if spec["size"] == "custom" {
		kopf.Nested(c.Object, "metadata", "annotations")[odd] = fmt.Sprint(gigabytes)
	}
	delete(spec, "gigabytes")
	return nil
}

func main() {}
