"""The proxies of a job: loading its pool, choosing exits for its requests, saving what was learnt."""
