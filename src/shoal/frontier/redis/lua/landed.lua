-- flags: allow-oom
-- Frees the hosts' slots and lets their clocks learn; the leases go on.
-- args: call; landings (token, latency_s, answered; status, failure, retry_after_s, late_s where they apply)
-- returns true

-- A host that has answered a job once is never unreachable to it; the first failure starts the count.
local function note_answer(job, host, landing)
  local visit = visit_of(job, host)
  if landing.answered then
    meet(job, host)
  elseif not visit.answered then
    if visit.failures == 0 then visit.failing_since = now - landing.latency_s end
    visit.failures, visit.changed = visit.failures + 1, true
  end
  return visit.answered
end

-- The plan follows a request that began late: the next start, which may be another worker's, keeps its gap from then.
local function keep_gap(host, lease, late_s, latency_s)
  -- No later than either: a worker cannot tell how long the lease was on its way, nor we how long the landing was.
  local began_at = math.min(lease.start_at + late_s, now - latency_s)
  host.next_at = math.max(host.next_at, began_at + lease.gap_s)
end

local function land(landing)
  local lease = leases[landing.token]
  if not lease or lease.landed then return end
  lease.landed = true
  push_pair(changed_leases, landing.token, listed(LEASE, lease))
  local job, host = find_job(lease.job), host_of(lease.host)
  local answered = true
  if job and job.id == lease.id then answered = note_answer(job, lease.host, landing) end
  learn(host, landing, answered)
  if landing.late_s and lease.slot then keep_gap(host, lease, landing.late_s, landing.latency_s) end
  host.in_flight, host.changed = math.max(0, host.in_flight - 1), true
  if not host.paused then wake(lease.host, math.max(host.next_at, host.block_until)) end
end

local function fetch_all()
  local tokens, names = {}, {}
  for place, landing in ipairs(args.landings) do tokens[place] = landing.token end
  fetch_leases(tokens)
  for _, lease in pairs(leases) do names[#names + 1] = lease.host end
  fetch_hosts(names)
end

return once(function()
  fetch_all()
  for _, landing in ipairs(args.landings) do land(landing) end
  return true
end)
