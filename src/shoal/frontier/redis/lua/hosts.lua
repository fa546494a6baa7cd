-- flags: no-writes
-- The clocks of some hosts.
-- args: hosts
-- returns the clock's offset and a table per host, with the number of jobs that have something queued there

local ids, found = redis.call('HKEYS', S .. ':ids'), {}
for place, name in ipairs(args.hosts) do
  local host = host_of(name)
  host.name, host.queued_jobs = name, 0
  for _, id in ipairs(ids) do
    for _, kind in ipairs(KINDS) do
      if redis.call('ZSCORE', S .. kind.ready .. id, name) then
        host.queued_jobs = host.queued_jobs + 1
        break
      end
    end
  end
  found[place] = host
end
return answer({shard.offset_s, found})
