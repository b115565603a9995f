package watching

// streamedPage is how many objects of a streamed listing are many.
const streamedPage = 500

// many says that a listing of many objects runs. The zero value says that none does.
type many struct{ end func() }

// begin says that the listing of a stream is one of many objects. Further calls do nothing.
func (m *many) begin(s *Stream) {
	if m.end == nil && s.Many != nil {
		m.end = s.Many()
	}
}

// over says that the listing is over, if it was one of many objects.
func (m *many) over() {
	if m.end != nil {
		m.end()
		m.end = nil
	}
}
