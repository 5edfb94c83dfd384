// Gocard writes people as cards with the Encoder of go-vcard, in the version that go.mod has:
//
//	python3 people.py 3 | go run gocard.go 3.0 >../wild/c03-go-vcard-3.vcf
//	python3 people.py 4 | go run gocard.go 4.0 >../wild/c04-go-vcard-4.vcf
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/emersion/go-vcard"
)

type person struct {
	UID, Prefix, First, Last, Suffix, Nickname, Birthday, Anniversary, Company, Department, Title, Role, Note string

	Additional, Categories   []string
	Emails, Phones, Websites [][2]string
	Addresses                []struct{ Type, Box, Extended, Street, Code, City, Region, Country string }
}

func main() {
	var people []person
	if err := json.NewDecoder(os.Stdin).Decode(&people); err != nil {
		log.Fatal(err)
	}
	for _, p := range people {
		card := cardOf(&p)
		card.SetValue(vcard.FieldUID, "urn:uuid:"+p.UID)
		card.SetValue(vcard.FieldVersion, "3.0")
		if os.Args[1] == "4.0" {
			vcard.ToV4(card)
		}
		if err := vcard.NewEncoder(os.Stdout).Encode(card); err != nil {
			log.Fatal(err)
		}
	}
}

func cardOf(p *person) vcard.Card {
	card := vcard.Card{}
	set := func(field, value string) {
		if value != "" {
			card.SetValue(field, value)
		}
	}
	if p.Last != "" {
		card.SetValue(vcard.FieldFormattedName, strings.TrimSpace(p.Prefix+" "+p.First+" "+p.Last))
		card.SetName(&vcard.Name{
			FamilyName: p.Last, GivenName: p.First, AdditionalName: strings.Join(p.Additional, " "),
			HonorificPrefix: p.Prefix, HonorificSuffix: p.Suffix,
		})
	} else {
		card.SetValue(vcard.FieldFormattedName, p.Company)
		card.SetKind(vcard.KindOrganization)
	}
	set(vcard.FieldNickname, p.Nickname)
	set(vcard.FieldBirthday, strings.ReplaceAll(p.Birthday, "--12-24", "--1224"))
	set(vcard.FieldAnniversary, p.Anniversary)
	set(vcard.FieldOrganization, strings.TrimSuffix(p.Company+";"+p.Department, ";"))
	set(vcard.FieldTitle, p.Title)
	set(vcard.FieldRole, p.Role)
	set(vcard.FieldNote, p.Note)
	if len(p.Categories) > 0 {
		card.SetCategories(p.Categories)
	}
	add := func(field string, values [][2]string) {
		for _, v := range values {
			card.Add(field, &vcard.Field{Value: v[1], Params: vcard.Params{vcard.ParamType: strings.Split(v[0], ",")}})
		}
	}
	add(vcard.FieldEmail, p.Emails)
	add(vcard.FieldTelephone, p.Phones)
	add(vcard.FieldURL, p.Websites)
	if emails := card[vcard.FieldEmail]; len(emails) > 1 {
		emails[0].Params.Set(vcard.ParamPreferred, "1")
	}
	for _, a := range p.Addresses {
		card.AddAddress(&vcard.Address{
			Field:         &vcard.Field{Params: vcard.Params{vcard.ParamType: {a.Type}}},
			PostOfficeBox: a.Box, ExtendedAddress: a.Extended, StreetAddress: a.Street, Locality: a.City,
			Region: a.Region, PostalCode: a.Code, Country: a.Country,
		})
	}
	return card
}
