package access

import "kartei/kit/fault"

// GateOpen is a condition on an organization under alias o: that Gate lets
// its principals through.
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
)

// Emits reports whether the actor's changes are written as events: not while
// the module is off, when nobody may follow them. Sync by updatedSince finds
// them afterwards all the same, because it goes by the records' own ticks.
func (a *Actor) Emits() bool { return a.organization.moduleReady() }

func (o *Organization) moduleReady() bool { return o.ModuleOn && o.SecrecyDeclared }

// apiOff reports whether the organization itself has switched its API off,
// which counts only where the module is there to be switched.
func (o *Organization) apiOff() bool { return o.moduleReady() && o.Level != Read && o.Level != On }
