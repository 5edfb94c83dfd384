package entry

import (
	"cmp"
	"strconv"
	"strings"

	"kartei/kit/fault"
	"kartei/transfer/imports/days"
	"kartei/transfer/imports/mapping"
)

// born sets the birthday of the entry. today is in the format 1984-05-17.
func (e *Entry) born(p *mapping.Plan, today string) {
	year, _ := strconv.Atoi(today[:4]) // Atoi cannot fail for a day
	if y, m, d := e.first("birthday.year"), e.first("birthday.month"), e.first("birthday.day"); y+m+d != "" {
		i := item{
			member: "birthday", text: strings.Join([]string{y, m, d}, "-"),
			heading: e.has(cmp.Or(map[bool]string{true: "birthday.year"}[y != ""],
				map[bool]string{true: "birthday.month"}[m != ""], "birthday.day"))[0].heading,
		}
		if y == "" {
			i.text = d + "." + m + "."
		}
		e.items["birthday"] = append(e.items["birthday"], i)
	}
	for n, i := range e.meaning("birthday") {
		var order days.Order
		for _, column := range p.Columns {
			if column.Target == "birthday" && column.Heading == i.heading {
				order = column.Dates
			}
		}
		day, known, guessed := days.Read(i.text, order, p.Options.MonthFirst, year)
		if len(i.text) == 8 && e.Exact {
			day, known = i.text[:4]+"-"+i.text[4:6]+"-"+i.text[6:], true
		} else if e.Exact {
			day, known = i.text, true
		} else if len(day) > 4 && day[:4] == "1604" { // Apple writes 1604 for a missing year
			known = false
		}
		switch {
		case known && day > today && !e.Exact:
			e.move("birthday", e.say("birthday"), i, fault.InvalidFormat, "This day has not been yet.")
		case !known:
			i.text = days.Words(i.text)
			e.move("birthday", e.say("birthday"), i, fault.InvalidFormat,
				"This is no date. Possible is for example 1984-05-17.")
		case day == "":
		case e.Firm || n > 0 && e.Text("birthday") != day:
			e.move("birthday", e.say("birthday"), i, noPlace, noField)
		default:
			if guessed && !e.Exact {
				e.tell(Altered, "birthday", i, fault.InvalidFormat, takenAs(day))
			}
			e.set("birthday", i, day)
		}
	}
}
