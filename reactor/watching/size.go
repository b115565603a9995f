package watching

// Bounds of pages.
const (
	pageBytes = 2 << 20 // of the objects, unless these are larger than those of the page before
	leastPage = 20      // objects, however large they are
)

// size is that of a page: the number and the bytes of its objects.
type size struct{ objects, bytes int }

func (s *size) add(object []byte) {
	s.objects++
	s.bytes += len(object)
}

// nextPage returns how many objects the next page of a listing should have. Pages of large objects
// are smaller than those that the settings ask for: the objects of a page can all be in memory at once,
// before any of them is handled.
func (s *size) nextPage(most int) int {
	if s.bytes == 0 {
		return most
	}
	return min(most, max(leastPage, pageBytes*s.objects/s.bytes))
}
