package ui

import "time"

// styleCharts returns the charts of the style guide: many bars, few bars, lines with gaps, and an
// empty chart.
func styleCharts(f Frame) []Chart {
	days := func(n int) (points, ticks []string) {
		for i := range n {
			day := f.Now.Add(time.Duration(i+1-n) * 24 * time.Hour)
			points, ticks = append(points, f.Day(day)), append(ticks, f.Short(day))
		}
		return points, ticks
	}
	values := func(n int, at func(i int) int64) []int64 {
		list := make([]int64, n)
		for i := range list {
			list[i] = at(i)
		}
		return list
	}
	none := func(int) int64 { return 0 }
	charts := []Chart{
		{Title: f.Say("Calls"), Desc: f.Say("Calls by day in 90 days, by result."), Series: []Series{
			{f.Say("successful"), Info, values(90, func(i int) int64 { return int64(400 + i*i%577) })},
			{f.Say("refused"), Plain, values(90, func(i int) int64 { return int64(i * 7 % 90) })},
			{
				f.Say("too many (429)"), Warn,
				values(90, func(i int) int64 { return int64(max(0, i*13%70-50)) }),
			},
			{f.Say("faults (5xx)"), Bad, values(90, func(i int) int64 { return int64(max(0, i*11%40-38)) })},
		}},
		{Title: f.Say("Few"), Desc: f.Say("Calls by day in three days."),
			Series: []Series{
				{f.Say("successful"), Info, []int64{1, 0, 3}}, {f.Say("faults"), Bad, []int64{0, 1, 1}},
			}},
		{Title: f.Say("Response time"), Lines: true,
			Format: func(n int64) string { return f.Decimal(float64(n)/1000, 1) + " ms" },
			Desc:   f.Say("Response time by day in 30 days."), Series: []Series{
				{
					f.Say("half of the calls"), Info,
					values(30, func(i int) int64 { return seldom(i, 900+i*i%300) }),
				},
				{f.Say("95 of 100"), Plain, values(30, func(i int) int64 { return seldom(i, 3000+i*i%2300) })},
			}},
		{
			Title:  f.Say("Nothing"),
			Desc:   f.Say("No calls."),
			Series: []Series{{f.Say("calls"), Info, values(7, none)}},
		},
	}
	for i := range charts {
		c := &charts[i]
		c.ID, c.Head = "sg-chart-"+string(rune('a'+i)), f.Say("Day")
		c.Points, c.Ticks = days(len(c.Series[0].Values))
	}
	return charts
}

// seldom returns the value, or zero on each ninth day.
func seldom(day, value int) int64 {
	if day%9 == 8 {
		return 0
	}
	return int64(value)
}
