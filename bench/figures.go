package main

import (
	"fmt"
	"slices"
)

// small is the size of the small table, for comparison with the large one.
const small = 100_000

func (b *bench) figures() []figure {
	rows := number(float64(b.records))
	few, many := "10 hits", number(float64(b.records)/5)+" hits"
	list := []figure{
		b.against("GET /contacts/{id}, 16 connections", getLarge, getBare, "bare server", 0.50),
		b.against("GET /contacts?limit=25, 16 connections", listLarge, listBare, "bare server", 0.25),
		b.against("the hundredth page", listHundth, listLarge, "the first", 0.90),
	}
	if b.small != nil {
		list = append(list,
			b.against("GET /contacts/{id} among "+rows, getLarge, getSmall, "among "+number(small), 0.80),
			b.against("GET /contacts?limit=25 among "+rows, listLarge, listSmall, "among "+number(small), 0.80))
	}
	list = append(list,
		b.against("POST /contacts, 64 connections", postLarge, postLoop, "a row and an fsync each", 1.00),
		b.within("POST /contacts, 64 connections", postLarge, 50),
		b.batches(),
		b.within("search, "+few+", 1 client", clients(searchFew, 1), 25),
		b.within("search, "+many+", 1 client", clients(searchMany, 1), 25),
		b.within("search, "+few+", 16 clients", clients(searchFew, 16), 100),
		b.within("search, "+many+", 16 clients", clients(searchMany, 16), 100),
		b.within("count of all", countAll, 5),
		b.within("count, "+few, countFew, 5),
		b.within("count, "+many, countMany, 5))
	list = slices.DeleteFunc(list, func(f figure) bool { return f.Value == 0 }) // not measured because of --only
	return append(list, b.memories()...)
}

// batches returns the row that compares creations in batches with single ones.
func (b *bench) batches() figure {
	each := func(r result) float64 { return inBatch * r.PerSecond }
	r := inBatch * b.ratio(postBatch, postOne)
	return figure{
		What: fmt.Sprintf("creations in batches of %d, 1 client", inBatch), Goal: "≥ 300 %",
		Measured: fmt.Sprintf("%s/s", number(b.median(postBatch, each))),
		Limit:    fmt.Sprintf("one by one: %s/s", number(b.median(postOne, perSecond))),
		Value:    r, Reached: r >= 3,
	}
}

// memories returns the rows about memory. Memory may grow by at most a tenth
// from the first run to the last.
func (b *bench) memories() []figure {
	highest := slices.Max(b.memory)
	list := []figure{{
		What: "memory of the server (RssAnon), highest", Goal: "< 300 MB", Measured: fmt.Sprintf("%.0f MB", highest),
		Value: highest / 300, Reached: highest > 0 && highest < 300,
	}}
	if n := len(b.memory); n > 1 {
		grown := b.memory[n-1] / b.memory[0]
		list = append(list, figure{
			What: "the same, last run against the first", Goal: "≤ 110 %", Measured: fmt.Sprintf("%.0f MB", b.memory[n-1]),
			Limit: fmt.Sprintf("first run: %.0f MB", b.memory[0]), Value: grown, Reached: grown <= 1.1,
		})
	}
	return list
}
