-- flags: allow-oom
-- Frees the hosts' slots and updates their clocks. The leases stay held.
-- args: call; landings (token, latency_s, answered; network_s, status, failure, retry_after_s, late_s, charged, address and
--       domain where they apply)
-- returns true

-- A host that has answered a job once is never unreachable for it. The first failure starts the count.
local function note_answer(job, host, landing)
  local visit = visit_of(job, host)
  if landing.answered then
    mark_answered(job, host)
  elseif not visit.answered then
    if visit.failures == 0 then visit.failing_since = now - landing.latency_s end
    visit.failures, visit.changed = visit.failures + 1, true
  end
  return visit.answered
end

local function keep_gap(job, lease, landing)
  local host, site, visit = clocks_of(job, lease)
  -- The earlier of the two: a worker cannot tell how long the lease took to arrive, nor we how long the landing took.
  local began_at = math.min(lease.start_at + (landing.late_s or 0), now - landing.latency_s)
  plan_after(host, site, visit, began_at + (landing.charged or 0) * lease.gap_s, lease.gap_s)
end

-- Updates what the job knows about the host. Returns whether it ever answered, and the job's own next start there.
local function land_for(job, lease, landing)
  local answered = note_answer(job, lease.host, landing)
  if (landing.late_s or landing.charged) and lease.slot then keep_gap(job, lease, landing) end
  local visit = visit_of(job, lease.host)
  local domain = landing.domain or visit.domain or lease.host
  if landing.address then place_host(host_of(lease.host), domain, landing.address) end
  return answered, visit.next_at
end

local function land(landing)
  local lease = leases[landing.token]
  if not lease or lease.landed then return end
  lease.landed = true
  push_pair(changed_leases, landing.token, listed(LEASE, lease))
  local job, host = find_job(lease.job), host_of(lease.host)
  local answered, own_at = true, 0
  if job and job.id == lease.id then answered, own_at = land_for(job, lease, landing) end
  learn(host, landing, answered)
  host.in_flight, host.changed = math.max(0, host.in_flight - 1), true
  local at = math.max(now, host.floor_at, host.block_until)
  if not host.paused then wake(lease.host, at, lease.id, math.max(at, own_at)) end
end

local function fetch_all()
  local tokens, names = {}, {}
  for place, landing in ipairs(args.landings) do tokens[place] = landing.token end
  fetch_leases(tokens)
  for _, lease in pairs(leases) do names[#names + 1] = lease.host end
  fetch_hosts(names)
end

for _, landing in ipairs(args.landings) do
  check_number('latency_s', landing.latency_s, 0, 1e8)
  check_number('network_s', landing.network_s or 0, 0, 1e8)
  check_number('late_s', landing.late_s or 0, 0, 1e8)
  check_number('charged', landing.charged or 0, 0, 1e6)
  check_number('retry_after_s', landing.retry_after_s or 0, 0, 1e15)
end

return once(function()
  fetch_all()
  for _, landing in ipairs(args.landings) do land(landing) end
  return true
end)
