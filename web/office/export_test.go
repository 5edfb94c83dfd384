package office

// Inside is the reach of the pages of an office.
const Inside = inside

// ContactMembers and CompanyMembers are the members that the pages of the families know.
func ContactMembers() []string { return contacts.names() }
func CompanyMembers() []string { return companies.names() }
