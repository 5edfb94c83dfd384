package document

import (
	"unicode/utf8"

	"kartei/extract"
	"kartei/extract/drawing"
	"kartei/record/search"
)

// maxHits is the maximum number of hits on a page.
const maxHits = 2000

// hits returns the places on a page that match the query, with the folding and the words of the
// index. Text outside of the visible page has no boxes and no hit.
func hits(p *extract.Page, query string) []Hit {
	found := []Hit{}
	q := search.Parse(query)
	if q.Empty() {
		return found
	}
	char, at := 0, 0 // the same position in the text, in characters and in bytes
	walk := func(to int) int {
		char += utf8.RuneCountInString(p.Text[at:to])
		at = to
		return char
	}
	for _, span := range search.MarkerOf(q).Text(p.Text) {
		first := walk(span[0])
		boxes := joined(p.Boxes[first:walk(span[1])])
		if len(boxes) == 0 {
			continue
		}
		if found = append(found, Hit{span, boxes}); len(found) == maxHits {
			break
		}
	}
	return found
}

// joined returns rectangles around the boxes, where neighbours on a line share one. It works for
// lines in every direction. Two boxes are joined if the rectangle around both is at most one and
// a half times their area.
func joined(boxes []drawing.Box) []Rect {
	var list []Rect
	var last drawing.Box
	for _, b := range boxes {
		if b.Empty() {
			continue
		}
		if n := len(list); n > 0 {
			if both := around(last, b); area(both)*2 <= (area(last)+area(b))*3 {
				last, list[n-1] = both, rectOf(both)
				continue
			}
		}
		last, list = b, append(list, rectOf(b))
	}
	return list
}

func around(a, b drawing.Box) drawing.Box {
	return drawing.Box{
		Left: min(a.Left, b.Left), Top: min(a.Top, b.Top), Right: max(a.Right, b.Right),
		Bottom: max(a.Bottom, b.Bottom),
	}
}

func area(b drawing.Box) int { return int(b.Right-b.Left) * int(b.Bottom-b.Top) }

func rectOf(b drawing.Box) Rect {
	return Rect{int(b.Left), int(b.Top), int(b.Right - b.Left), int(b.Bottom - b.Top)}
}
