// Package principal owns users and service accounts: their roles and rights, their names, and their erasure.
package principal

import (
	"context"
	"errors"
	"maps"
	"slices"

	"kartei/access"
	"kartei/api/op"
	"kartei/kit/fault"
	"kartei/kit/i18n"
	"kartei/kit/id"
	"kartei/kit/input"
	"kartei/people/notify"
	"kartei/people/organization"
	"kartei/people/signin"
	"kartei/store/db"
)

// New is the input of CreateUser and CreateServiceAccount.
type New struct {
	Organization string `json:"organizationId,omitempty"`
	Name         string `json:"name"`
	// Email is required for users. It is unique in the organization, without regard to case. It is
	// not allowed for service accounts.
	Email string `json:"email,omitempty"`
	// Language is the language of a user. Empty means de. It is not allowed for service accounts.
	Language string `json:"language,omitempty"`
	// Role is the role of the principal. Empty means member.
	Role   access.Role   `json:"role,omitempty"`
	Rights access.Rights `json:"rights,omitempty"`
}

// Change is the input of SetUser and SetServiceAccount. A nil member keeps its value. Rights
// changes only the given families. The right write removes a restriction.
type Change struct {
	ID       string        `json:"id"`
	Name     *string       `json:"name,omitempty"`
	Email    *string       `json:"email,omitempty"`
	Language *string       `json:"language,omitempty"`
	Role     *access.Role  `json:"role,omitempty"`
	Rights   access.Rights `json:"rights,omitempty"`
	Disabled *bool         `json:"disabled,omitempty"`
}

// CreateUser is the operation that creates a user.
var CreateUser = op.New("people.create", op.Administer, createUser, op.By(op.Admin|op.Operator), op.Fresh, op.Gives,
	op.Audited("person.create"))

func createUser(ctx context.Context, c *op.Call, in New) (access.PrincipalInfo, error) {
	return create(ctx, c, access.UserPrincipal, in)
}

// CreateServiceAccount is the operation that creates a service account. A service account is a
// principal for programs and cannot sign in.
var CreateServiceAccount = op.New("serviceAccounts.create", op.Administer, createServiceAccount,
	op.By(op.Admin|op.Operator), op.Fresh, op.Gives, op.Audited("serviceAccount.create"))

func createServiceAccount(ctx context.Context, c *op.Call, in New) (access.PrincipalInfo, error) {
	return create(ctx, c, access.ServiceAccountPrincipal, in)
}

// ListUsers is the operation that lists users.
var ListUsers = op.New("people.list", op.Read, listUsers, op.By(op.Admin|op.Operator))

func listUsers(ctx context.Context, c *op.Call, p op.Page) (op.Entries[access.PrincipalInfo], error) {
	page, err := list(ctx, c, access.UserPrincipal, p)
	if err != nil {
		return page, err
	}
	err = seeSignIns(ctx, c, page.Data)
	return page, err
}

// ListServiceAccounts is the operation that lists service accounts.
var ListServiceAccounts = op.New("serviceAccounts.list", op.Read, listServiceAccounts, op.By(op.Admin|op.Operator))

func listServiceAccounts(ctx context.Context, c *op.Call, p op.Page) (op.Entries[access.PrincipalInfo], error) {
	return list(ctx, c, access.ServiceAccountPrincipal, p)
}

// FindOwn returns a user or a service account whose complete data the caller may see: the caller's
// own, or any for admins and the operator. It fails with NOT_FOUND for others.
func FindOwn(ctx context.Context, c *op.Call, name string) (access.PrincipalInfo, error) {
	p, err := Find(ctx, c, "", name)
	if err == nil && !c.Owns(p.ID) {
		p, err = Find(ctx, c, "", "")
	}
	return named(c, p), err
}

// GetUser is the operation that returns a user with data about their sign-ins.
var GetUser = op.New("people.get", op.Read, getUser, op.By(op.Admin|op.Operator))

func getUser(ctx context.Context, c *op.Call, in op.ByID) (access.PrincipalInfo, error) {
	p, err := Find(ctx, c, access.UserPrincipal, in.ID)
	if err != nil {
		return p, err
	}
	one := []access.PrincipalInfo{named(c, p)}
	err = seeSignIns(ctx, c, one)
	return one[0], err
}

// GetServiceAccount is the operation that returns a service account.
var GetServiceAccount = op.New("serviceAccounts.get", op.Read, getServiceAccount, op.By(op.Admin|op.Operator))

func getServiceAccount(ctx context.Context, c *op.Call, in op.ByID) (access.PrincipalInfo, error) {
	return Find(ctx, c, access.ServiceAccountPrincipal, in.ID)
}

// SetUser is the operation that changes a user. If the user is disabled or loses a right, their
// keys lose that access at once. The keys stay, and work again when the right returns. Only the
// operator can disable the last admin, or give them another role.
var SetUser = op.New("people.set", op.Administer, setUser, op.By(op.Admin|op.Operator), op.Fresh, op.Gives,
	op.Audited("person.set"))

func setUser(ctx context.Context, c *op.Call, in Change) (access.PrincipalInfo, error) {
	return change(ctx, c, access.UserPrincipal, in)
}

// SetServiceAccount is the operation that changes a service account, in the same way as SetUser.
var SetServiceAccount = op.New("serviceAccounts.set", op.Administer, setServiceAccount, op.By(op.Admin|op.Operator),
	op.Fresh, op.Gives, op.Audited("serviceAccount.set"))

func setServiceAccount(ctx context.Context, c *op.Call, in Change) (access.PrincipalInfo, error) {
	return change(ctx, c, access.ServiceAccountPrincipal, in)
}

func create(ctx context.Context, c *op.Call, kind access.PrincipalType, in New) (access.PrincipalInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.PrincipalInfo{}, err
	}
	var f input.Faults
	o, err := c.OrganizationField(ctx, &f, in.Organization)
	if err != nil {
		return access.PrincipalInfo{}, err
	}
	p := Check(c, &f, kind, in)
	if err := f.Err(); err != nil {
		return access.PrincipalInfo{}, err
	}
	if p, err = Insert(ctx, c, o, p); err != nil {
		return p, err
	}
	// A new person cannot sign in yet, so only the admins get a notice.
	word := op.PersonCreated
	if kind == access.ServiceAccountPrincipal {
		word = op.AccountCreated
	}
	return p, c.Gives(ctx, op.Gain{Word: word, ID: p.ID, Organization: p.Home})
}

// Check checks the input, adds its errors to f and returns the new principal.
func Check(c *op.Call, f *input.Faults, kind access.PrincipalType, in New) access.PrincipalInfo {
	if in.Role == "" {
		in.Role = access.Member
	}
	p := access.PrincipalInfo{
		ID:        id.New(kind.Prefix()),
		Type:      kind,
		Language:  string(i18n.German),
		Rights:    access.Rights{},
		CreatedAt: c.Now,
	}
	change := Change{
		Name: &in.Name, Role: &in.Role, Rights: in.Rights, Email: input.Given(in.Email),
		Language: input.Given(in.Language),
	}
	if kind == access.UserPrincipal {
		change.Email = &in.Email
	}
	apply(&p, f, change)
	return p
}

// Insert inserts a principal into an organization. It fails with DUPLICATE if another user has the
// address.
func Insert(
	ctx context.Context, c *op.Call, o access.OrganizationInfo, p access.PrincipalInfo,
) (access.PrincipalInfo, error) {
	p.Home, p.OrganizationID = o.Live, o.ID
	if o.SandboxOf != "" {
		p.OrganizationID = o.SandboxOf
	}
	c.Audit.About(p.Home, p.ID)
	note(c, access.PrincipalInfo{}, p)
	_, err := c.Tx.Exec(ctx, insertPrincipal, p.ID, string(p.Type), p.Home, p.Name,
		orNull(p.Email), orNull(access.FoldEmail(p.Email)), string(p.Role), db.JSON(p.Rights), false, int64(p.CreatedAt),
		p.Language)
	return p, emailTaken(err)
}

// widenedRights reports whether a principal has access that it did not have before.
func widenedRights(before, after access.PrincipalInfo) bool {
	more := func(scope string) bool {
		return access.Allows(after.Role, after.Rights, scope) && !access.Allows(before.Role, before.Rights, scope)
	}
	return before.Disabled && !after.Disabled || after.Role == access.Admin && before.Role != access.Admin ||
		slices.ContainsFunc(access.AllScopes(), more)
}

// note records a change in the audit log. The log does not have the values of names and addresses,
// because they are personal data.
func note(c *op.Call, before, after access.PrincipalInfo) {
	c.Audit.Hidden("name", before.Name != after.Name)
	c.Audit.Hidden("email", before.Email != after.Email)
	c.Audit.Changed("language", before.Language, after.Language)
	c.Audit.Changed("role", string(before.Role), string(after.Role))
	for _, family := range access.Families {
		c.Audit.Changed("rights."+family, string(before.Rights[family]), string(after.Rights[family]))
	}
	c.Audit.Changed("disabled", before.Disabled, after.Disabled)
}

func list(
	ctx context.Context, c *op.Call, kind access.PrincipalType, p op.Page,
) (op.Entries[access.PrincipalInfo], error) {
	organization, err := c.Within(ctx, p.Organization)
	if err != nil {
		return op.Entries[access.PrincipalInfo]{}, err
	}
	page, err := op.ListPage(ctx, c.Tx, p, access.ScanPrincipal, selectPrincipals, string(kind), p.After, organization)
	for n := range page.Data {
		page.Data[n] = named(c, page.Data[n])
	}
	return page, err
}

// seeSignIns sets SignIn of users in one organization. A list of the operator may have users of
// several organizations, and then SignIn is not set.
func seeSignIns(ctx context.Context, c *op.Call, list []access.PrincipalInfo) error {
	if len(list) == 0 || slices.ContainsFunc(list, func(p access.PrincipalInfo) bool { return p.Home != list[0].Home }) {
		return nil
	}
	at := map[string]int{}
	for n := range list {
		at[list[n].ID] = n
	}
	type row struct {
		id string
		access.SignIn
	}
	rows, err := db.List(ctx, c.Tx, func(r db.Row) (s row, err error) {
		return s, r.Scan(&s.id, &s.Joined, &s.SecondFactor, &s.SSO, &s.LastSeenAt)
	}, selectSignIns+c.Tx.Dialect().In("$3"), list[0].Home, signin.Issuer(c), db.Texts(slices.Collect(maps.Keys(at))))
	for _, r := range rows {
		list[at[r.id]].SignIn = &r.SignIn
	}
	return err
}

// named returns p with the name that is shown for erased people, if p is erased.
func named(c *op.Call, p access.PrincipalInfo) access.PrincipalInfo {
	if p.ErasedAt != 0 {
		p.Name = access.ErasedName.In(c.Language)
	}
	return p
}

func change(ctx context.Context, c *op.Call, kind access.PrincipalType, in Change) (access.PrincipalInfo, error) {
	if err := access.Changed(ctx, c.Tx); err != nil {
		return access.PrincipalInfo{}, err
	}
	p, err := Find(ctx, c, kind, in.ID)
	if err != nil {
		return access.PrincipalInfo{}, err
	}
	if p.ErasedAt != 0 {
		err = &fault.Fault{Code: fault.Forbidden, Detail: erased}
	}
	if err != nil {
		return access.PrincipalInfo{}, err
	}
	var f input.Faults
	before := p
	before.Rights = maps.Clone(p.Rights)
	apply(&p, &f, in)
	if err := f.Err(); err != nil {
		return access.PrincipalInfo{}, err
	}
	if manages(before) && !manages(p) && !c.IsOperator() {
		if err := otherAdmin(ctx, c, p); err != nil {
			return access.PrincipalInfo{}, err
		}
	}
	c.Audit.About(p.Home, p.ID)
	note(c, before, p)
	if !manages(p) {
		if err := organization.DropPasswordAdmin(ctx, c, p); err != nil {
			return access.PrincipalInfo{}, err
		}
	}
	_, err = c.Tx.Exec(ctx, updatePrincipal, p.ID, p.Name, orNull(p.Email), orNull(access.FoldEmail(p.Email)),
		string(p.Role), db.JSON(p.Rights), p.Disabled, p.Language)
	if err == nil && (before.Role != p.Role || p.Disabled && !before.Disabled) {
		err = access.EndSessionsOf(ctx, c.Tx, c.Now, p.ID)
	}
	if err == nil && before.Email != p.Email {
		err = tellAddress(ctx, c, before, p)
	}
	if err != nil || !widenedRights(before, p) {
		return p, emailTaken(err)
	}
	word := op.PersonWidened
	if kind == access.ServiceAccountPrincipal {
		word = op.AccountWidened
	}
	return p, c.Gives(ctx, op.Gain{Word: word, ID: p.ID, Organization: p.Home, Principal: p.ID, Admins: true})
}

// tellAddress posts notices about the new address of a person, and sends an email to the old
// address. Otherwise only the reader of the new address would get all further emails.
func tellAddress(ctx context.Context, c *op.Call, before, p access.PrincipalInfo) error {
	err := c.Gives(ctx, op.Gain{Word: op.AddressChanged, ID: p.ID, Organization: p.Home, Principal: p.ID})
	center := notify.Service.In(c)
	if err != nil || center == nil || !notify.Mails.In(c) || before.Email == "" {
		return err
	}
	in := i18n.Language(before.Language)
	return center.Send(ctx, c.Tx, p.Home, notify.Message{
		To: before.Email, Language: in, Title: movedTitle.In(in), Text: movedText.In(in),
	})
}

var (
	movedTitle = i18n.Text("Your emails go to another address")
	movedText  = i18n.Text("An admin of your organization changed the address to which you get messages of Kartei. This address gets none any more.\n\nIf you do not expect this, ask why. Your sign-in is not affected.")
)

// Disable disables a principal as part of another act. Its keys and sign-ins are refused from then
// on. It fails for the last admin, unless the operator calls. The act has called access.Changed.
func Disable(ctx context.Context, c *op.Call, p access.PrincipalInfo) error {
	if manages(p) && !c.IsOperator() {
		if err := otherAdmin(ctx, c, p); err != nil {
			return err
		}
	}
	c.Audit.Changed("disabled", p.Disabled, true)
	if err := organization.DropPasswordAdmin(ctx, c, p); err != nil {
		return err
	}
	if _, err := c.Tx.Exec(ctx, disablePrincipal, p.ID); err != nil {
		return err
	}
	return access.EndSessionsOf(ctx, c.Tx, c.Now, p.ID)
}

// manages reports whether a principal is a person who can administer the organization. A service
// account cannot sign in.
func manages(p access.PrincipalInfo) bool {
	return p.Type == access.UserPrincipal && p.Role == access.Admin && !p.Disabled
}

// Find returns a principal in an organization that the caller reaches. An empty kind accepts users
// and service accounts. It fails with NOT_FOUND for others. It also returns colleagues to callers
// who are no admins, so operations about one person use FindOwn or check Owns.
func Find(ctx context.Context, c *op.Call, kind access.PrincipalType, name string) (access.PrincipalInfo, error) {
	p, err := access.PrincipalIn(ctx, c.Tx, kind, name)
	if err != nil {
		return p, err
	}
	if !c.Reaches(p.Home, p.Home) {
		_, err = access.PrincipalIn(ctx, c.Tx, kind, "") // the same error as for an unknown id
	}
	return p, err
}

var erased = i18n.Text("This person is erased. That cannot be undone.")

func apply(p *access.PrincipalInfo, f *input.Faults, c Change) {
	if c.Name != nil {
		p.Name = f.Name("name", *c.Name)
	}
	switch {
	case c.Email == nil:
	case p.Type == access.UserPrincipal:
		p.Email = f.Email("email", *c.Email)
	default:
		f.Say("email", fault.ForbiddenCombination, "A service account has no email address.")
	}
	switch {
	case c.Language == nil:
	case p.Type == access.UserPrincipal:
		input.OneOf(f, "language", *c.Language, i18n.Tags()...)
		p.Language = *c.Language
	default:
		f.Say("language", fault.ForbiddenCombination, "A service account gets no messages.")
	}
	if c.Role != nil {
		input.OneOf(f, "role", *c.Role, access.Admin, access.Member, access.Viewer)
		p.Role = *c.Role
	}
	checkRights(f, "rights", c.Rights)
	for family, right := range c.Rights {
		p.Rights[family] = right
	}
	if c.Disabled != nil {
		p.Disabled = *c.Disabled
	}
}

// checkRights adds an error for each unknown family and each invalid right.
func checkRights(f *input.Faults, field string, rights access.Rights) {
	for _, family := range slices.Sorted(maps.Keys(rights)) {
		if !slices.Contains(access.Families, family) {
			f.Add(field, fault.UnknownField, slices.Clone(access.Families))
			continue
		}
		input.OneOf(f, field+"."+family, rights[family], access.NoRight, access.ReadRight, access.WriteRight)
	}
}

func emailTaken(err error) error {
	if errors.Is(err, db.ErrDuplicate) {
		return fault.Invalid(fault.Field{Name: "email", Code: fault.Duplicate})
	}
	return err
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
