package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
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
// the ticks. Its width is the page's, so that texts never shrink: all that lies
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
func (c *Chart) highest() (peak int64) {
	for i := range c.Points {
		if !c.Lines {
			peak = max(peak, c.sum(i))
			continue
		}
		for _, s := range c.Series {
			peak = max(peak, s.Values[i])
		}
	}
	return peak
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
	limit := top(c.highest())
	if limit%2 == 0 {
		return []int64{limit, limit / 2}
	}
	return []int64{limit}
}

// y returns how far down a value is drawn.
func (c *Chart) y(value int64) float64 {
	return chartBase - float64(value)*chartBody/float64(top(c.highest()))
}

// bar is a bar, or a part of one. All but its height is text.
type bar struct{ x, y, height string }

// bars returns the bars of each series. They stand on the bars of the series before. A
// bar is at least two pixels high: a single refused call must be seen.
func (c *Chart) bars() [][]bar {
	list, feet := make([][]bar, len(c.Series)), make([]float64, len(c.Points))
	for n, s := range c.Series {
		for i, value := range s.Values {
			if value > 0 {
				height := max(2, math.Round(chartBase-c.y(value)))
				feet[i] += height
				list[n] = append(list[n], bar{c.at(float64(i) + 0.1), px(chartBase - feet[i]), px(height)})
			}
		}
	}
	return list
}

// at returns a place along the time, in percent.
func (c *Chart) at(point float64) string {
	return strconv.FormatFloat(100*point/float64(len(c.Points)), 'f', 2, 64) + "%"
}

// curve returns the path of a line, a unit wide for each point: the drawing stretches it.
// A point without a value ends a piece: without calls nothing took any time.
func (c *Chart) curve(s Series) string {
	var b strings.Builder
	for i, value := range s.Values {
		if value == 0 {
			continue
		}
		if i > 0 && s.Values[i-1] > 0 {
			fmt.Fprintf(&b, "L%d.5 %s", i, px(c.y(value)))
		} else {
			fmt.Fprintf(&b, "M%d.5 %s", i, px(c.y(value)))
		}
	}
	return b.String()
}

// box is the box of curve.
func (c *Chart) box() string { return fmt.Sprintf("0 0 %d %d", len(c.Points), chartHeight) }

// pattern is the id of the pattern of a series.
func (c *Chart) pattern(kind Kind) string { return c.ID + "-" + seriesClass(kind) }

// lonely reports whether a value of a line has no neighbour, so that no piece of the line
// shows it.
func (c *Chart) lonely(s Series, point int) bool {
	return (point == 0 || s.Values[point-1] == 0) && (point == len(s.Values)-1 || s.Values[point+1] == 0)
}

// maxMarks is how many values of a line have a mark, so that lines do not drown in them.
const maxMarks = 31

// marked reports whether the value of a point has a mark.
func (c *Chart) marked(point int) bool { return point%((len(c.Points)+maxMarks-1)/maxMarks) == 0 }

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

// px formats whole pixels.
func px(n float64) string { return strconv.Itoa(int(math.Round(n))) }

// seriesClass is the class with the colour of a series.
func seriesClass(kind Kind) string { return "series-" + string(kind) }
