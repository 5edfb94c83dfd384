package job

// A row of job_turns is the turn of an organization: the time at which its first job is due. Each
// transaction that changes jobs first locks the turn of their organization, then the jobs, and then
// the organization's change clock (its row in clocks). This order prevents deadlocks. It also
// ensures that no job is added while the turn is computed. docs/decisions/0020 has the order for
// other rows in such a transaction.
const (
	// keepTurn sets the turn of organization $1 to the time $2, if it is later. It locks the row in
	// any case.
	keepTurn = `insert into job_turns (organization, due_at) values ($1, $2)
		on conflict (organization) do update set due_at = excluded.due_at where job_turns.due_at > excluded.due_at`
	// setTurn sets the turn of organization $1 to the due time of its first job, but at least to
	// the time $2. Organizations that are due already thus come first. Without a job, the turn is
	// set to $3.
	setTurn = `update job_turns set due_at = coalesce((select case when due_at > $2 then due_at else $2 end from jobs
			where organization = $1 and state <> 'failed' order by due_at limit 1), $3)
		where organization = $1`
	insertJob = `insert into jobs (organization, id, kind, key, payload, state, claim, attempt, due_at, error, created_at, started_at, trace)
		values ($1, $2, $3, $4, $5, 'waiting', 0, 0, $6, '', $7, 0, $8)
		on conflict (organization, kind, key) where key <> '' and state <> 'failed' do `
	insertOnce = insertJob + `nothing`
	insertSoon = insertJob + `update set
		attempt = case when jobs.attempt > $9 then $9 else jobs.attempt end,
		due_at = case
			when jobs.due_at <= excluded.due_at then jobs.due_at
			when jobs.attempt = 0 or jobs.started_at + $10 <= excluded.due_at then excluded.due_at
			when jobs.due_at <= jobs.started_at + $10 then jobs.due_at
			else jobs.started_at + $10 end
		where jobs.state = 'waiting'`
	// clearPayload removes the payload of a job with secrets that was given up.
	clearPayload = `update jobs set payload = '{}' where organization = $1 and id = $2`
	// selectTurns returns the organizations with the earliest turns, at most $1.
	selectTurns = `select organization, due_at from job_turns order by due_at limit $1`
	// claimJobs claims at most $4 jobs that are due at $2, with a lease until $3. The outer
	// condition is checked again for the locked row, so no job is claimed twice.
	claimJobs = `update jobs set state = 'running', claim = claim + 1, attempt = attempt + 1, due_at = $3, started_at = $2
		where organization = $1 and state <> 'failed' and due_at <= $2 and id in (select id from jobs
			where organization = $1 and state <> 'failed' and due_at <= $2 order by due_at limit $4)
		returning id, kind, key, payload, claim, attempt, error, created_at, coalesce(trace, '')`
	renewJob = `update jobs set due_at = $4 where organization = $1 and id = $2 and claim = $3 and state = 'running'`
	// putBack ends a claim. The job then waits for its next attempt, or has failed.
	putBack = `update jobs set state = $4, attempt = $5, due_at = $6, error = $7
		where organization = $1 and id = $2 and claim = $3 and state = 'running'`
	deleteJob = `delete from jobs where organization = $1 and id = $2 and claim = $3 and state = 'running'`
	// retryJob makes a failed job wait, with all its attempts.
	retryJob = `update jobs set state = 'waiting', attempt = 0, due_at = $3 where organization = $1 and id = $2 and state = 'failed'`

	// These queries are for the operator and read the jobs of all organizations.
	countJobs = `select kind, state, count(*), min(case when state = 'running' then started_at else due_at end), min(created_at), max(error) from jobs
		group by kind, state order by kind, state`
	selectFailed = `select organization, id, kind, attempt, error, created_at, due_at from jobs
		where state = 'failed' order by due_at desc limit $1`
	findFailed = `select organization from jobs where state = 'failed' and id = $1`
)
