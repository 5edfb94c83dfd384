package api_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	texts "kartei/api/words"
	"kartei/docs"
	"kartei/record/company"
	"kartei/record/contact"
	records "kartei/record/document"
	"kartei/record/search"
	"kartei/record/task"
)

// searched has the German and English words for members that q searches. Other members use the
// words of their description in api/words.
var searched = map[string][2]string{
	"firstName": {"Namen", "names"}, "lastName": {"Namen", "names"}, "name": {"Name", "name"},
	"mobile": {"Telefonnummern", "telephone numbers"}, "phone": {"Telefonnummern", "telephone numbers"},
	"email": {"E-Mail-Adressen", "email addresses"}, "jobTitle": {"Funktion", "job title"}, "title": {"Titel", "title"},
	"address.postalCode": {"Postleitzahlen", "postal codes"}, "address.city": {"Orten", "places"},
	"additionalEmails.email":         {"E-Mail-Adressen", "email addresses"},
	"additionalPhones.phone":         {"Telefonnummern", "telephone numbers"},
	"additionalAddresses.postalCode": {"Postleitzahlen", "postal codes"}, "additionalAddresses.city": {"Orten", "places"},
	"tags": {"Schlagwörtern", "tags"}, "externalId": {"externalId", "externalId"},
	"website": {"Website", "website"}, "nameSuffix": {"Namenszusatz", "suffix"}, "department": {"Abteilung", "department"},
	"reference": {"Aktenzeichen", "file number"}, "vatId": {"Umsatzsteuer-", "tax"},
	"registerNumber": {"Registernummer", "register numbers"},
}

// wordsOf returns the German and English words for a member that q searches. Without an entry in
// searched, these are the member's description up to the first comma or semicolon.
func wordsOf(fields any, member string) [2]string {
	if w, other := searched[member]; other {
		return w
	}
	german, _ := texts.German(reflect.TypeOf(fields).Elem().String() + "." + member)
	english := texts.English()[german]
	if len(english) > 1 && english[1] >= 'a' {
		english = strings.ToLower(english[:1]) + english[1:]
	}
	end := regexp.MustCompile("[,;].*")
	return [2]string{end.ReplaceAllString(german, ""), end.ReplaceAllString(english, "")}
}

// TestSearchedMembers compares the members that each family indexes with the descriptions of q in
// lists, and with the guide.
func TestSearchedMembers(t *testing.T) {
	inGuide := func(guide []byte, said string) bool {
		return strings.Contains(strings.ReplaceAll(strings.Join(strings.Fields(string(guide)), " "), "`", ""), said)
	}
	and := regexp.MustCompile(", | und | and ")
	for id, fields := range map[string]func() (any, func() *search.Document){
		"contacts.list":  func() (any, func() *search.Document) { f := new(contact.Fields); return f, f.Words },
		"companies.list": func() (any, func() *search.Document) { f := new(company.Fields); return f, f.Words },
		"tasks.list":     func() (any, func() *search.Document) { f := new(task.Fields); return f, f.Words },
		"documents.list": func() (any, func() *search.Document) { f := new(records.Fields); return f, f.Words },
	} {
		description, _ := texts.German(id + ".description")
		_, german, _ := strings.Cut(strings.TrimSuffix(description, "."), "mit q sucht er in ")
		_, said, _ := strings.Cut(strings.TrimSuffix(texts.English()[description], "."), "with q it searches ")
		if german == "" || said == "" {
			t.Errorf("%s does not say what q searches: %q, %q", id, german, said)
		}
		if !inGuide(docs.Guide, said) {
			t.Errorf("docs/guide.md does not say of %s that q searches %s", id, said)
		}
		if !inGuide(docs.GuideDE, german) {
			t.Errorf("docs/guide.de.md does not say of %s that q searches %s", id, german)
		}
		var words [2]map[string]bool
		words[0], words[1] = map[string]bool{}, map[string]bool{}
		if id == "documents.list" {
			words[0]["Text der Datei"], words[1]["text of the file"] = true, true // the text of a file is not a member
		}
		for member := range indexed(fields) {
			f, _ := fields()
			w := wordsOf(f, member)
			words[0][w[0]], words[1][w[1]] = true, true
		}
		for i, text := range []string{german, said} {
			if is, want := slices.Sorted(slices.Values(and.Split(text,
				-1))), slices.Sorted(maps.Keys(words[i])); !slices.Equal(is, want) {
				t.Errorf("%s.description in %s says that q searches\n%q, and Words returns\n%q", id, texts.File(id), is, want)
			}
		}
	}
}

// firstEntry stands for the first entry of a list in the path to a member.
const firstEntry = -1

// indexed returns the members of a family whose values are indexed for the search.
func indexed(fields func() (any, func() *search.Document)) map[string]bool {
	found := map[string]bool{}
	var try func(path []int, name string, typ reflect.Type)
	try = func(path []int, name string, typ reflect.Type) {
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
			try(append(slices.Clone(path), firstEntry), name, typ.Elem())
			return
		}
		if typ.Kind() == reflect.Struct {
			for i := range typ.NumField() {
				f := typ.Field(i)
				member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				try(append(slices.Clone(path), i), strings.Trim(name+"."+member, "."), f.Type)
			}
			return
		}
		for _, value := range []string{"02215550100", "https://wort.example"} {
			f, words := fields()
			v := reflect.ValueOf(f).Elem()
			for _, i := range path {
				if v.Kind() == reflect.Pointer {
					v.Set(reflect.New(v.Type().Elem()))
					v = v.Elem()
				}
				if i == firstEntry {
					v.Set(reflect.MakeSlice(v.Type(), 1, 1))
					v = v.Index(0)
				} else {
					v = v.Field(i)
				}
			}
			switch v.Interface().(type) {
			case string:
				v.SetString(value)
			case *string:
				v.Set(reflect.ValueOf(&value))
			case []string:
				v.Set(reflect.ValueOf([]string{value}))
			}
			if !words().Same(new(search.Document)) {
				found[name] = true
			}
		}
	}
	f, _ := fields()
	try(nil, "", reflect.TypeOf(f))
	return found
}
