-- Queues dead letters again, those not pending already. Only what was leased can have died, so whatever is pending of
-- it is among the moving.
-- args: call; job; requests of {host, band, trail, line}
-- returns how many

local job = job_of(args.job)

return once(function()
  local again = 0
  for _, request in ipairs(job.id ~= NO_QUEUES and args.requests or {}) do
    local host, band, trail, line = unpack(request)
    if redis.call('HSETNX', S .. ':m:' .. job.id, host .. ' ' .. line, 'queued') == 1 then
      redis.call('RPUSH', queue_of(job, band, host), cmsgpack.pack({0, 0, band, trail, line}))
      job.bands[band] = true
      look(job, host)
      again = again + 1
    end
  end
  job.dead, job.queued, job.changed = job.dead - again, job.queued + again, true
  shard.queued = shard.queued + again
  return again
end)
