package records

import (
	"fmt"
	"slices"

	"kartei/bench/load"
	"kartei/bench/measure"
	"kartei/bench/report"
)

// Small is the number of contacts in the office for comparison.
const Small = 100_000

func figures(b *measure.Bench) []report.Figure {
	rows := report.Number(float64(b.Records))
	few, many := "10 hits", report.Number(float64(b.Records)/5)+" hits"
	list := []report.Figure{
		b.Against("GET /contacts/{id}, 16 connections", getLarge, getBare, "bare server", 0.50),
		b.Against("GET /contacts?limit=25, 16 connections", listLarge, listBare, "bare server", 0.25),
		b.Against("the hundredth page", listHundth, listLarge, "the first", 0.90),
	}
	if b.Small != nil {
		list = append(list,
			b.Against("GET /contacts/{id} among "+rows, getLarge, getSmall, "among "+report.Number(Small), 0.80),
			b.Against("GET /contacts?limit=25 among "+rows, listLarge, listSmall, "among "+report.Number(Small), 0.80))
	}
	list = append(list,
		b.Against("POST /contacts, 64 connections", postLarge, postLoop, "a row and an fsync each", 1.00),
		b.Within("POST /contacts, 64 connections", postLarge, 50),
		batches(b),
		b.Within("search, "+few+", 1 client", measure.WithClients(searchFew, 1), 25),
		b.Within("search, "+many+", 1 client", measure.WithClients(searchMany, 1), 25),
		b.Within("search, "+few+", 16 clients", measure.WithClients(searchFew, 16), 100),
		b.Within("search, "+many+", 16 clients", measure.WithClients(searchMany, 16), 100),
		b.Within("count of all", countAll, 5),
		b.Within("count, "+few, countFew, 5),
		b.Within("count, "+many, countMany, 5))
	list = slices.DeleteFunc(list, func(f report.Figure) bool { return f.Value == 0 }) // a value is zero if --only excluded the series
	return append(list, b.Memories()...)
}

// batches returns the figure that compares creates in batches with single creates.
func batches(b *measure.Bench) report.Figure {
	each := func(r load.Result) float64 { return measure.InBatch * r.PerSecond }
	r := measure.InBatch * b.Ratio(postBatch, postOne)
	return report.Figure{
		What: fmt.Sprintf("creations in batches of %d, 1 client", measure.InBatch), Goal: "≥ 300 %",
		Measured: fmt.Sprintf("%s/s", report.Number(b.Median(postBatch, each))),
		Limit:    fmt.Sprintf("one by one: %s/s", report.Number(b.Median(postOne, measure.PerSecond))),
		Value:    r, Reached: r >= 3,
	}
}
