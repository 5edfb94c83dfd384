package access

import "kartei/kit/i18n"

// GateOpen is an SQL condition on an organization with alias o. It is true if Gate accepts the
// organization's programs.
const GateOpen = `o.module_on and o.secrecy_declared and o.level in ('read', 'on') and o.state = 'open'`

var (
	undeclared  = i18n.Text("The organization has not yet declared whether it is bound by professional secrecy. Until then the module publicApi counts as not enabled.")
	closed      = i18n.Text("The organization is closed or scheduled for deletion.")
	onlyReading = i18n.Text("The organization is closed. Reading is still possible, changing is not.")
	onlyAdmins  = i18n.Text("The organization is being deleted. Only its admins can still read.")
)

// Emits reports whether changes by the actor have events. While the module is off, they have
// none, because no caller may read them. A sync with updatedSince still finds these changes
// later, because it uses the ticks of the records.
func (a *Actor) Emits() bool { return a.organization.moduleReady() }

func (o *Organization) moduleReady() bool { return o.ModuleOn && o.SecrecyDeclared }

// apiOff reports whether the organization has switched its API off by the level. The level counts
// only if the module is enabled.
func (o *Organization) apiOff() bool { return o.moduleReady() && o.Level != Read && o.Level != On }
