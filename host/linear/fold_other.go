//go:build !linux || (!amd64 && !arm64)

package linear

// Fold has nothing to do: there are no clones.
func (*Memory) Fold() {}

// Unfold has nothing to do.
func (*Memory) Unfold() {}

func (*Memory) clearRoom() {}
