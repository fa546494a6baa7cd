-- Tells of requests that ended before the frontier was lost: seen and counted, not queued. What is seen changes nothing.
-- args: call; job; endings of {fingerprint, host, outcome, bytes, reason}
-- returns how many were not seen

local job = job_of(args.job)

local function recall(ending)
  local fingerprint, host, outcome, bytes, reason = unpack(ending)
  if not first_seen(job, fingerprint) then return 0 end
  count_end(job, outcome, bytes, reason)
  local visit = visit_of(job, host)
  visit.changed = true
  if outcome == 'done' then
    job.permits, visit.taken = job.permits + 1, visit.taken + 1
  end
  if outcome == 'done' or outcome == 'redirect' then meet(job, host) end
  return 1
end

return once(function()
  if job.id == NO_QUEUES then return 0 end
  local names, new = {}, 0
  for place, ending in ipairs(args.endings) do names[place] = ending[2] end
  fetch_visits(job, names)
  for _, ending in ipairs(args.endings) do new = new + recall(ending) end
  job.found, job.changed = job.found + new, true
  return new
end)
