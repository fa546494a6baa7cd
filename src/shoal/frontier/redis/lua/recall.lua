-- Counts requests that ended before the frontier was lost as seen, and does not queue them. Those already seen change
-- nothing.
-- args: call; job; ended, a list of {fingerprint, host, outcome, bytes, reason, whether it is an asset}
-- returns how many were not seen

local job = job_of(args.job)

local function recall(ended)
  local fingerprint, host, outcome, bytes, reason, is_asset = unpack(ended)
  if not first_seen(job, fingerprint) then return 0 end
  count_end(job, outcome, bytes, reason, is_asset)
  local visit = visit_of(job, host)
  visit.changed = true
  if outcome == 'done' and is_asset then
    job.asset_permits = job.asset_permits + 1
  elseif outcome == 'done' then
    job.permits, visit.taken = job.permits + 1, visit.taken + 1
  end
  if outcome == 'done' or outcome == 'redirect' then mark_answered(job, host) end
  return 1
end

return once(function()
  if job.id == NO_QUEUES then return 0 end
  local names, new = {}, 0
  for place, ended in ipairs(args.ended) do names[place] = ended[2] end
  fetch_visits(job, names)
  for _, ended in ipairs(args.ended) do new = new + recall(ended) end
  job.found, job.changed = job.found + new, true
  return new
end)
