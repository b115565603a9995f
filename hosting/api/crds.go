package api

import _ "embed"

// Definitions are the manifests of the CustomResourceDefinitions, in YAML.
//
//go:embed manifests/definitions.yaml
var Definitions string
