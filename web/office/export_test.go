package office

// ContactMembers and CompanyMembers are the members that the pages of the families know.
func ContactMembers() []string { return contacts.names() }
func CompanyMembers() []string { return companies.names() }
