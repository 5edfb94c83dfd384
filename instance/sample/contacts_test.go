package sample

import (
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"kartei/record"
	"kartei/record/company"
	"kartei/record/contact"
	"kartei/record/task"
)

var owners = []string{"usr_a", "usr_b", "usr_c", "usr_d"}

func TestContactsAreTheSameForEveryone(t *testing.T) {
	if !reflect.DeepEqual(Contacts(Size, owners), Contacts(Size, owners)) {
		t.Fatal("two runs made up different people")
	}
}

// reserved matches the telephone numbers that the Federal Network Agency has reserved for films and
// print.
var reserved = regexp.MustCompile(`^\+49 (221 4710\d{3}|30 23125\d{3}|40 66969\d{3}|89 99998\d{3}|69 90009\d{3}|171 39200\d\d|176 040690\d\d|` +
	`152 28817386|152 28895456|152 54599371|172 9925904|172 9968532|172 9973185|172 9980752|174 9091317|174 9464308)$`)

func TestContactsReachNobody(t *testing.T) {
	for _, c := range Contacts(Size, owners) {
		for _, number := range []*string{c.Phone, c.Mobile} {
			if number != nil && !reserved.MatchString(*number) {
				t.Errorf("%s could be somebody's number", *number)
			}
		}
		if c.Email == nil {
			continue
		}
		_, domain, _ := strings.Cut(*c.Email, "@")
		if top := domain[strings.LastIndex(domain, ".")+1:]; top != "example" && !strings.HasPrefix(domain, "example.") {
			t.Errorf("%s could be somebody's address", *c.Email)
		}
	}
}

func TestContactsLookLikeAnOffice(t *testing.T) {
	people := Contacts(Size, owners)
	names, numbers := map[string]bool{}, map[string]bool{}
	var private, notes, umlauts, abroad, tagged int
	for i := range people {
		c := &people[i]
		name := *c.FirstName + " " + *c.LastName
		if names[name] {
			t.Errorf("%s appears twice", name)
		}
		names[name] = true
		if c.ExternalID != nil && numbers[*c.ExternalID] {
			t.Errorf("client number %s appears twice", *c.ExternalID)
		} else if c.ExternalID != nil {
			numbers[*c.ExternalID] = true
		}
		if wrong := contact.Contacts.Prepare(nil, c, nil); len(wrong) > 0 {
			t.Errorf("%s: %v", name, wrong)
		}
		if strings.ContainsAny(name, "äöüßÄÖÜ") {
			umlauts++
		}
		if c.Visibility == record.Private {
			private++
		}
		if c.Note != nil {
			notes++
		}
		if *c.Address.Country != "DE" {
			abroad++
		}
		if len(c.Tags) > 0 {
			tagged++
		}
		if len(c.Tags) > 20 {
			t.Errorf("%s has %d tags", name, len(c.Tags))
		}
	}
	for what, n := range map[string][3]int{
		"private": {private, 5, 40}, "with a note": {notes, 100, 260}, "with umlauts": {umlauts, 40, 240},
		"abroad": {abroad, 10, 30}, "tagged": {tagged, Size, Size}, "client numbers": {len(numbers), 150, Size},
	} {
		if n[0] < n[1] || n[0] > n[2] {
			t.Errorf("%s: %d, want %d to %d", what, n[0], n[1], n[2])
		}
	}
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{
		"Müller": "mueller", "Groß": "gross", "Yıldız": "yildiz", "Étienne": "etienne", "Kołodziej": "kolodziej",
		"von der Heide": "vonderheide", "D’Angelo": "dangelo", "Anne-Sophie": "anne-sophie", "Søren": "soren", "İpek": "ipek",
	} {
		if got := plain(name); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
}

func TestLoopback(t *testing.T) {
	for _, n := range Loopback {
		a, err := netip.ParseAddr(n)
		if p, e := netip.ParsePrefix(n); e == nil {
			a, err = p.Addr(), nil
		}
		if err != nil || !a.IsLoopback() {
			t.Errorf("%s is not loopback", n)
		}
	}
}

func TestCompaniesAndTasks(t *testing.T) {
	companies := Companies(owners)
	if !reflect.DeepEqual(companies, Companies(owners)) {
		t.Error("two runs made up different companies")
	}
	names := map[string]bool{}
	for i := range companies {
		c := &companies[i]
		if wrong := company.Companies.Prepare(nil, c, nil); len(wrong) > 0 || names[c.Name] {
			t.Errorf("%s: twice %v, %v", c.Name, names[c.Name], wrong)
		}
		names[c.Name] = true
		if !reserved.MatchString(*c.Phone) || !strings.HasSuffix(*c.Email, ".example") {
			t.Errorf("%s %s could be somebody's", *c.Phone, *c.Email)
		}
	}
	people := Contacts(Size, owners)
	employed := 0
	for i := range people {
		if employer(people[i].Email) >= 0 {
			employed++
		}
	}
	if employed < 40 {
		t.Errorf("%d contacts work for a company", employed)
	}
	done, private, hours := 0, 0, map[string]int{}
	list := tasks(people, owners, 1_793_500_000_000_000)
	for i := range list {
		e := &list[i]
		if wrong := task.Tasks.Prepare(nil, &e.Fields, nil); len(wrong) > 0 {
			t.Errorf("%s: %v", e.Title, wrong)
		}
		if e.done {
			done++
		}
		if e.DueAt != nil {
			due := e.DueAt.Time().In(berlin)
			if hours[due.Format("15:04")]++; due.Second() != 0 {
				t.Errorf("%s is due at %s", e.Title, due)
			}
		}
		if e.Visibility == record.Private {
			if private++; *e.AssigneeID != people[e.contact].OwnerID {
				t.Errorf("%s is a private contact's, and somebody else's task", e.Title)
			}
		}
	}
	if len(list) < 80 || done < 20 || done > len(list)/2 || private == 0 {
		t.Errorf("%d tasks, %d done, %d private", len(list), done, private)
	}
	if len(hours) != 3 || hours["09:00"] < 10 || hours["12:00"] < 10 || hours["17:00"] < 10 {
		// summer time ends between the due dates
		t.Errorf("tasks are due at %v", hours)
	}
}
