package db

// Whole are the tables that are not spread by organization over the servers of
// a cluster: they stay on its coordinator, through which all statements go. Each
// has its reason. The rows of every other table belong to one organization, and
// its keys, unique indexes, foreign keys and statements lead with that. See
// docs/decisions/0016-what-a-cluster-spreads.md.
var Whole = map[string]string{
	"organizations":  "the list of what the others are spread by; only operators change it",
	"principals":     "an email address signs in one user of the whole instance",
	"api_keys":       "a key is looked up before its organization is known",
	"generations":    "one row for all that replicas keep in memory",
	"settings":       "what is switched for the whole instance",
	"limit_replicas": "the replicas of the instance",
}
