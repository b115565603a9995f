//go:build wasip1

package main

import "strings"

// Breaches of the contract, by the names that objects give in spec.do.
func do(what string) uint64 {
	switch what {
	case "nonsense":
		return answer("this is not JSON")
	case "outside":
		return 0xFFFF_FFF0<<32 | 100
	case "huge":
		return answer(`{"step":"done","result":"` + strings.Repeat("x", 9<<20) + `"}`)
	case "deep":
		return answer(`{"step":"done","result":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`)
	case "unknown step":
		return answer(`{"step":"dance"}`)
	case "list patch":
		return answer(`{"step":"done","patch":[1]}`)
	case "no resume": // a step that cannot be answered: there is no kopf_resume
		return answer(`{"step":"wait","seconds":0}`)
	}
	return answer(`{"step":"done","result":"well-behaved"}`)
}
