-- flags: allow-oom
-- Sets an operator's rate and pause for a host.
-- args: host, rate (false: each job's own), paused
-- returns true

if args.rate then check_number('rate', args.rate, 0.0001, 10000) end
local host = host_of(args.host)
host.rate, host.paused, host.changed = args.rate, args.paused, true
if not args.paused then wake(args.host, now) end
save()
return answer(true)
