package api

import "time"

// Retire announces the end of a version, as a release that drops it would.
func (a *API) Retire(version string, deprecated, sunset time.Time) {
	v := a.versions[version]
	v.deprecated, v.sunset = deprecated, sunset
}
