package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Chart shows numbers over time as stacked bars or as lines. The server renders it as SVG. A table
// below a button has the same numbers, for people who cannot see the drawing.
type Chart struct {
	// ID is the prefix of the chart's element ids. It is unique on the page.
	ID, Title string
	// Desc is a sentence that says what the chart shows.
	Desc string
	// Head is the heading of the first column of the table, such as "Day".
	Head string
	// Points are the names of the points in the table. Ticks are the short names below the axis.
	Points, Ticks []string
	Series        []Series
	// Lines draws lines instead of bars.
	Lines bool
	// Format returns a value as text. If it is nil, values are formatted as numbers.
	Format func(n int64) string
}

// Series is a named sequence of values, one for each point. Each kind has its own colour, and its
// own pattern or marker. A chart therefore has at most one series of each kind.
type Series struct {
	Name string
	// Kind is Info, Plain, Warn or Bad. In a chart with lines it is Info or Plain.
	Kind   Kind
	Values []int64
}

// These are heights in pixels: chartHead is the space for a label above the values, chartBody the
// space for the values, and chartFoot the space for the ticks. The drawing is as wide as the page,
// so that texts do not shrink. Horizontal positions are therefore percentages.
const (
	chartHead, chartBody, chartFoot = 18, 120, 20
	chartBase                       = chartHead + chartBody
	chartHeight                     = chartBase + chartFoot
)

// Empty reports whether all values are zero.
func (c *Chart) Empty() bool { return c.highest() == 0 }

// sum returns the sum of the values of all series at a point.
func (c *Chart) sum(point int) (sum int64) {
	for _, s := range c.Series {
		sum += s.Values[point]
	}
	return sum
}

// highest returns the largest value that the chart must show.
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

// top returns the upper end of the axis for a largest value. It is a round number, and so is its
// half.
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

// gridlines returns the values of the labelled grid lines, the upper one first.
func (c *Chart) gridlines() []int64 {
	limit := top(c.highest())
	if limit%2 == 0 {
		return []int64{limit, limit / 2}
	}
	return []int64{limit}
}

// y returns the vertical position of a value in pixels from the top.
func (c *Chart) y(value int64) float64 {
	return chartBase - float64(value)*chartBody/float64(top(c.highest()))
}

// bar is the rectangle of a bar, or of a part of a stacked bar. x is a percentage, y and height are
// pixels.
type bar struct{ x, y, height string }

// bars returns the rectangles of each series. Each series is stacked on the series before. The
// minimum height is two pixels, so that a single refused call is visible.
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

// at returns the horizontal position of a point as a percentage.
func (c *Chart) at(point float64) string {
	return strconv.FormatFloat(100*point/float64(len(c.Points)), 'f', 2, 64) + "%"
}

// curve returns the SVG path of a line. Each point is one unit wide, and the browser scales the
// path. A value of zero is a gap in the line, because a response time of zero means that there were
// no calls.
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

// box returns the viewBox of the SVG element around a curve.
func (c *Chart) box() string { return fmt.Sprintf("0 0 %d %d", len(c.Points), chartHeight) }

// pattern returns the element id of the pattern for a series of this kind.
func (c *Chart) pattern(kind Kind) string { return c.ID + "-" + seriesClass(kind) }

// lonely reports whether a value has no neighbour in the line. The line does not show such a value,
// so it needs a marker.
func (c *Chart) lonely(s Series, point int) bool {
	return (point == 0 || s.Values[point-1] == 0) && (point == len(s.Values)-1 || s.Values[point+1] == 0)
}

// maxMarks is the maximum number of markers on a line. More markers would hide the line.
const maxMarks = 31

// marked reports whether the value at a point has a marker.
func (c *Chart) marked(point int) bool { return point%((len(c.Points)+maxMarks-1)/maxMarks) == 0 }

// ticks returns the points with a name below the axis: the first, the last and, for five points or
// more, the middle.
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

// anchor returns the position and the text-anchor of a tick. The first and the last tick are
// aligned with the edges, so that they are not cut off.
func (c *Chart) anchor(point int) (x, anchor string) {
	switch point {
	case 0:
		return "0", "start"
	case len(c.Points) - 1:
		return "100%", "end"
	}
	return c.at(float64(point) + 0.5), "middle"
}

// format returns a value as text.
func (c *Chart) format(v View, n int64) string {
	if c.Format != nil {
		return c.Format(n)
	}
	return v.Number(int(n))
}

// hint returns the tooltip of a point.
func (c *Chart) hint(v View, point int) string {
	text := c.Points[point]
	for _, s := range c.Series {
		text += "\n" + s.Name + ": " + c.format(v, s.Values[point])
	}
	return text
}

// px returns a number of pixels as text, rounded to an integer.
func px(n float64) string { return strconv.Itoa(int(math.Round(n))) }

// seriesClass returns the CSS class with the colour of a series.
func seriesClass(kind Kind) string { return "series-" + string(kind) }
