package match

import (
	"context"
	"slices"

	"kartei/api/op"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
)

const selectFirmsByExternal = `select id, external_id from companies where organization = $1 and external_id is not null and deleted = false and `

// findFirms finds the existing companies of entries that are companies: by id, external id, or
// name.
func findFirms(ctx context.Context, c *op.Call, list []*Candidate) error {
	var external, ids []string
	for _, n := range list {
		if n.Firm && n.External != "" {
			external = append(external, n.External)
		}
	}
	by := contactIndex{}
	if err := by.read(ctx, c, "companies", "x", selectFirmsByExternal, "external_id", external); err != nil {
		return err
	}
	if err := by.namesakes(ctx, c, list); err != nil {
		return err
	}
	for _, n := range list {
		if n.Firm {
			ids = append(ids, n.firmIDs(by)...)
		}
	}
	looked, err := company.Companies.Look(ctx, c, record.Unique(ids))
	if err != nil {
		return err
	}
	companies := make(map[string]*record.Sight[*company.Fields], len(looked))
	for i := range looked {
		companies[looked[i].ID] = &looked[i]
	}
	for _, n := range list {
		if !n.Firm {
			continue
		}
		for _, id := range n.firmIDs(by) {
			is := companies[id]
			if is == nil || id != n.Itself && !slices.Contains(by["x"+n.External], id) && !n.fits(firmIdentity(is.Members)) {
				continue
			}
			n.FirmMatch, n.by = is, 'f'
			if id == n.Itself {
				n.by = 'i'
			} else if slices.Contains(by["x"+n.External], id) {
				n.by = 'x'
			}
			break
		}
		if n.CompanyID = ""; n.FirmMatch != nil {
			n.CompanyID = n.FirmMatch.ID
		}
	}
	return nil
}

// findByFirmID finds the companies of contacts by their ids, which exports of Kartei contain. An id
// decides between several companies with the same name.
func findByFirmID(ctx context.Context, c *op.Call, list []*Candidate) error {
	var ids []string
	for _, n := range list {
		if n.FirmID != "" && n.CompanyKey != "" {
			ids = append(ids, n.FirmID)
		}
	}
	if len(ids) == 0 || !c.Actor.May("companies:read") {
		return nil
	}
	looked, err := company.Companies.Look(ctx, c, record.Unique(ids))
	if err != nil {
		return err
	}
	for _, n := range list {
		for i := range looked {
			is := looked[i].Members
			if looked[i].ID == n.FirmID && nameKey(is.Name) == n.CompanyKey && (n.Private || is.Visibility != record.Private) {
				n.CompanyID = n.FirmID
			}
		}
	}
	return nil
}

// firmIDs returns the ids of companies that may be the entry's, the most probable first.
func (x *Candidate) firmIDs(by contactIndex) (ids []string) {
	if id.Valid(id.Company, x.Itself) {
		ids = append(ids, x.Itself)
	}
	if x.External != "" {
		ids = append(ids, by["x"+x.External]...)
	}
	return append(ids, by["f"+x.CompanyKey]...)
}

// firmIdentity returns the identity of a company.
func firmIdentity(f *company.Fields) *Identity {
	i := &Identity{External: text(f.ExternalID), domain: domainOf(text(f.Email))}
	if f.Address != nil {
		i.city = nameKey(text(f.Address.City))
	}
	return i
}

// namesakes adds the companies that have the names of entries which are companies.
func (f contactIndex) namesakes(ctx context.Context, c *op.Call, list []*Candidate) error {
	var keys []string
	for _, n := range list {
		if n.Firm && n.CompanyKey != "" {
			keys = append(keys, n.CompanyKey)
		}
	}
	return allNamed(ctx, c, "companies", visibleTo(c), keys, func(key, id string) { f.add("f"+key, id) })
}

// findNamed finds the companies of entries by name, and adds their ids to known, by CacheKey. A
// contact gets a company that all people can see. A private contact can also get a private company
// that its person can see.
func findNamed(ctx context.Context, c *op.Call, list []*Candidate, known map[string]string) error {
	var public, private []string
	for _, n := range list {
		switch {
		case n.CompanyKey == "" || known[n.CacheKey()] != "":
		case n.Private:
			private = append(private, n.CompanyKey)
		default:
			public = append(public, n.CompanyKey)
		}
	}
	err := firstNamed(ctx, c, "companies", forEveryone, public, func(key, id string) { known[key] = id })
	if err != nil {
		return err
	}
	return firstNamed(ctx, c, "companies", visibleTo(c), private, func(key, id string) { known[privatePrefix+key] = id })
}
