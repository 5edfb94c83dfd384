package access

import "kartei/kit/fault"

// GateOpen is an SQL condition on an organization with alias o. It holds if
// Gate lets the organization's programs through.
const GateOpen = `o.module_on and o.secrecy_declared and o.level in ('read', 'on') and o.state = 'open'`

var (
	undeclared = fault.Text{
		DE: "Die Organisation hat noch nicht erklärt, ob sie der beruflichen Schweigepflicht unterliegt. Bis dahin gilt das Modul publicApi als nicht freigeschaltet.",
		EN: "The organization has not yet declared whether it is bound by professional secrecy. Until then the module publicApi counts as not enabled.",
	}
	closed = fault.Text{
		DE: "Die Organisation ist geschlossen oder zur Löschung vorgesehen.",
		EN: "The organization is closed or scheduled for deletion.",
	}
	onlyReading = fault.Text{
		DE: "Die Organisation ist geschlossen. Lesen ist weiterhin möglich, Ändern nicht.",
		EN: "The organization is closed. Reading is still possible, changing is not.",
	}
	onlyAdmins = fault.Text{
		DE: "Die Organisation wird gelöscht. Nur ihre Administratorinnen und Administratoren können noch lesen.",
		EN: "The organization is being deleted. Only its admins can still read.",
	}
)

// Emits reports whether changes of the actor are written as events. While the
// module is off they are not, because no caller may read them. Sync by
// updatedSince finds the changes later all the same, because it follows the
// ticks of the records.
func (a *Actor) Emits() bool { return a.organization.moduleReady() }

func (o *Organization) moduleReady() bool { return o.ModuleOn && o.SecrecyDeclared }

// apiOff reports whether the organization has switched its API off. The level
// counts only if the module is enabled.
func (o *Organization) apiOff() bool { return o.moduleReady() && o.Level != Read && o.Level != On }
