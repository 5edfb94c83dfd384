package imports

import (
	"context"
	"slices"

	"kartei/api/op"
	"kartei/kit/id"
	"kartei/record"
	"kartei/record/company"
)

const selectFirmsByExternal = `select id, external_id from companies where organization = $1 and external_id is not null and deleted = false and `

// findFirms finds the companies that entries are about: by the id, the external id, or
// the name.
func findFirms(ctx context.Context, c *op.Call, list []*Candidate) error {
	var external, ids []string
	for _, n := range list {
		if n.Firm && n.external != "" {
			external = append(external, n.external)
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
			if is == nil || id != n.Itself && !slices.Contains(by["x"+n.external], id) && !n.fits(firmIdentity(is.Members)) {
				continue
			}
			n.firmMatch, n.by = is, 'f'
			if id == n.Itself {
				n.by = 'i'
			} else if slices.Contains(by["x"+n.external], id) {
				n.by = 'x'
			}
			break
		}
		if n.companyID = ""; n.firmMatch != nil {
			n.companyID = n.firmMatch.ID
		}
	}
	return nil
}

// findByFirmID finds the companies of contacts by the ids that exports of Kartei have: of several
// companies of one name it is the one.
func findByFirmID(ctx context.Context, c *op.Call, list []*Candidate) error {
	var ids []string
	for _, n := range list {
		if n.FirmID != "" && n.companyKey != "" {
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
			if looked[i].ID == n.FirmID && nameKey(is.Name) == n.companyKey && (n.private || is.Visibility != record.Private) {
				n.companyID = n.FirmID
			}
		}
	}
	return nil
}

// firmIDs returns the companies that an entry may be about, the likeliest first.
func (x *Candidate) firmIDs(by contactIndex) (ids []string) {
	if id.Valid(id.Company, x.Itself) {
		ids = append(ids, x.Itself)
	}
	if x.external != "" {
		ids = append(ids, by["x"+x.external]...)
	}
	return append(ids, by["f"+x.companyKey]...)
}

// firmIdentity returns the identity of a company.
func firmIdentity(f *company.Fields) *identity {
	i := &identity{external: text(f.ExternalID), domain: domainOf(text(f.Email))}
	if f.Address != nil {
		i.city = nameKey(text(f.Address.City))
	}
	return i
}

// namesakes finds the companies with the names of entries that are companies.
func (f contactIndex) namesakes(ctx context.Context, c *op.Call, list []*Candidate) error {
	var keys []string
	for _, n := range list {
		if n.Firm && n.companyKey != "" {
			keys = append(keys, n.companyKey)
		}
	}
	return allNamed(ctx, c, "companies", visibleTo(c), keys, func(key, id string) { f.add("f"+key, id) })
}

// findNamed finds the companies of entries by the keys of their names: those that everyone sees,
// and for a private contact also those that its person sees. known gets them, by CacheKey.
func findNamed(ctx context.Context, c *op.Call, list []*Candidate, known map[string]string) error {
	var public, private []string
	for _, n := range list {
		switch {
		case n.companyKey == "" || known[n.cacheKey()] != "":
		case n.private:
			private = append(private, n.companyKey)
		default:
			public = append(public, n.companyKey)
		}
	}
	err := firstNamed(ctx, c, "companies", forEveryone, public, func(key, id string) { known[key] = id })
	if err != nil {
		return err
	}
	return firstNamed(ctx, c, "companies", visibleTo(c), private, func(key, id string) { known[privatePrefix+key] = id })
}
