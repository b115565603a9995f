//go:build !linux || (!amd64 && !arm64)

package linear

// Supported says whether the system has images.
const Supported = false

// Image is the contents of a memory, to be cloned.
type Image struct{}

// NewImage always gives ErrUnsupported.
func NewImage([]byte) (*Image, error) { return nil, ErrUnsupported }

// NewImageOfClone always gives ErrUnsupported.
func NewImageOfClone([]byte) (*Image, error) { return nil, ErrUnsupported }

// Size is the number of bytes of the image.
func (*Image) Size() int { return 0 }

// Stored is the number of bytes of the image that take memory.
func (*Image) Stored() int { return 0 }

// Clone always gives ErrUnsupported.
func (*Image) Clone(int) (*Memory, error) { return nil, ErrUnsupported }

// Close has nothing to do.
func (*Image) Close() error { return nil }
