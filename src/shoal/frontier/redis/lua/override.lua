-- flags: allow-oom
-- An operator's word on a host.
-- args: host, rate (false: each job's own), paused
-- returns true

local host = host_of(args.host)
host.rate, host.paused, host.changed = args.rate, args.paused, true
if not args.paused then wake(args.host, now) end
save()
return answer(true)
