package look

import (
	"math"
	"strconv"
)

// Chart is numbers over time: bars that stand on each other, or lines. The server draws
// it. Its table under a button has the same numbers, for those who read it otherwise.
type Chart struct {
	// ID is unique on the page.
	ID, Title string
	// Desc says in a sentence what the chart shows.
	Desc string
	// Head names what the points are: the day.
	Head string
	// Points are the names of the points, as the table has them, and Ticks the short
	// ones below the axis.
	Points, Ticks []string
	Series        []Series
	// Lines draws lines instead of bars.
	Lines bool
	// Format writes a value; nil is a number.
	Format func(n int64) string
}

// Series are the values of a chart with a name, one for each point. Each kind has a
// colour, and a pattern or a mark of its own, so a chart has one series of a kind.
type Series struct {
	Name string
	// Kind is Info, Plain, Warn or Bad; in a chart of lines Info or Plain.
	Kind   Kind
	Values []int64
}

// The height of a chart in pixels, of its head room for a label, and of its foot with
// the ticks. Its width is that of the page, so that texts never shrink: all that lies
// along the time is placed by percent.
const (
	chartHead, chartBody, chartFoot = 18, 120, 20
	chartBase                       = chartHead + chartBody
	chartHeight                     = chartBase + chartFoot
)

// Empty reports whether all values are zero.
func (c *Chart) Empty() bool { return c.highest() == 0 }

// sum returns the sum of a point.
func (c *Chart) sum(point int) (sum int64) {
	for _, s := range c.Series {
		sum += s.Values[point]
	}
	return sum
}

// highest returns the highest value to draw.
func (c *Chart) highest() (most int64) {
	for i := range c.Points {
		if !c.Lines {
			most = max(most, c.sum(i))
			continue
		}
		for _, s := range c.Series {
			most = max(most, s.Values[i])
		}
	}
	return most
}

// top returns the upper end of the axis: a round number whose half is one too.
func top(highest int64) int64 {
	for _, n := range []int64{1, 2, 4, 6, 8} {
		if n >= highest {
			return n
		}
	}
	for power := int64(1); ; power *= 10 {
		for _, n := range []int64{10, 12, 16, 20, 30, 40, 60, 80} {
			if n*power >= highest || power > math.MaxInt64/1000 {
				return n * power
			}
		}
	}
}

// gridlines returns the labelled values of the axis, the upper one first.
func (c *Chart) gridlines() []int64 {
	most := top(c.highest())
	if most%2 == 0 {
		return []int64{most, most / 2}
	}
	return []int64{most}
}

// y returns how far down a value is drawn.
func (c *Chart) y(value int64) float64 {
	return chartBase - float64(value)*chartBody/float64(top(c.highest()))
}

// bar is a bar, or a part of one. All but its height is text.
type bar struct {
	x, y, width, height string
	fill                string
}

// bars returns the parts of the bar of a point, from below. A part is at least two
// pixels high: a single refused call must be seen.
func (c *Chart) bars(point int) (list []bar) {
	foot := float64(chartBase)
	for _, s := range c.Series {
		if s.Values[point] == 0 {
			continue
		}
		height := max(2, float64(s.Values[point])*chartBody/float64(top(c.highest())))
		foot -= height
		list = append(list, bar{c.at(float64(point) + 0.1), px(foot), c.at(0.8), px(height), "url(#" + c.pattern(s.Kind) + ")"})
	}
	return list
}

// at returns a place along the time, in percent.
func (c *Chart) at(point float64) string {
	return strconv.FormatFloat(100*point/float64(len(c.Points)), 'f', 3, 64) + "%"
}

// segment is a piece of a line between two points.
type segment struct{ x1, y1, x2, y2 string }

// segments returns the pieces of a line. A point without a value ends one: without
// calls nothing took any time.
func (c *Chart) segments(s Series) (list []segment) {
	for i := 1; i < len(s.Values); i++ {
		if s.Values[i-1] > 0 && s.Values[i] > 0 {
			list = append(list, segment{c.at(float64(i) - 0.5), px(c.y(s.Values[i-1])), c.at(float64(i) + 0.5), px(c.y(s.Values[i]))})
		}
	}
	return list
}

// pattern is the id of the pattern of a series.
func (c *Chart) pattern(kind Kind) string { return c.ID + "-" + seriesClass(kind) }

// ticks returns the points whose names stand below the axis: the first, the last, and
// the one in the middle if there is room.
func (c *Chart) ticks() []int {
	switch n := len(c.Points); {
	case n < 2:
		return []int{0}[:n]
	case n < 5:
		return []int{0, n - 1}
	default:
		return []int{0, n / 2, n - 1}
	}
}

// anchor returns on which side of its place a tick stands, so that none is cut off.
func (c *Chart) anchor(point int) (x, anchor string) {
	switch point {
	case 0:
		return "0", "start"
	case len(c.Points) - 1:
		return "100%", "end"
	}
	return c.at(float64(point) + 0.5), "middle"
}

// format writes a value.
func (c *Chart) format(v View, n int64) string {
	if c.Format != nil {
		return c.Format(n)
	}
	return v.Number(int(n))
}

// hint is what the pointer on a point says.
func (c *Chart) hint(v View, point int) string {
	text := c.Points[point]
	for _, s := range c.Series {
		text += "\n" + s.Name + ": " + c.format(v, s.Values[point])
	}
	return text
}

// px formats pixels.
func px(n float64) string { return strconv.FormatFloat(n, 'f', 1, 64) }

// seriesClass is the class with the colour of a series.
func seriesClass(kind Kind) string { return "series-" + string(kind) }
