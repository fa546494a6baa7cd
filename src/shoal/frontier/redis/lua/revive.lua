-- Queues dead letters again, except those already pending. Only a leased request can have died, so a pending one is
-- always in S:m:<id>.
-- args: call; job; requests of {host, band, trail, line}
-- returns how many

local job = job_of(args.job)

return once(function()
  local again = 0
  for _, request in ipairs(job.id ~= NO_QUEUES and args.requests or {}) do
    local host, asked, trail, line = unpack(request)
    local band = band_in(job, asked)
    if redis.call('HSETNX', S .. ':m:' .. job.id, host .. ' ' .. line, 'queued') == 1 then
      redis.call('RPUSH', queue_of(job, band, host), cmsgpack.pack({0, 0, band, trail, line}))
      use_band(job, band)
      if needs_browser(band) then job.rendered = job.rendered + 1 end
      check_now(job, kind_of(band), host)
      uncap(job, host)
      if band == ASSETS then
        job.assets_queued = job.assets_queued + 1
        note_assets(job, host)
      end
      again = again + 1
    end
  end
  job.dead, job.queued, job.changed = job.dead - again, job.queued + again, true
  shard.queued = shard.queued + again
  return again
end)
