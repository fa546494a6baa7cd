-- flags: no-writes
-- The state of a job.
-- args: job
-- returns the job, with: end_reason and idle_reason (see the contract), the host it waits for, when that may be fetched, and how
-- many hosts have queued requests

local job = job_of(args.job)

local function all_capped()
  for _, kind in ipairs(KINDS) do
    local first = redis.call('ZRANGE', ready_of(job, kind), 0, 0, 'WITHSCORES')
    if first[2] and tonumber(first[2]) < CAPPED then return false end
  end
  return redis.call('EXISTS', S .. ':later:' .. job.id) == 0
end

-- The hosts to check next, up to two, the first first.
local function next_hosts()
  local found, times = {}, {}
  for _, kind in ipairs(KINDS) do
    local due = redis.call('ZRANGEBYSCORE', ready_of(job, kind), '-inf', '(' .. CAPPED, 'WITHSCORES', 'LIMIT', 0, 2)
    for place = 1, #due, 2 do
      if not times[due[place]] then found[#found + 1] = due[place] end
      times[due[place]] = math.min(times[due[place]] or PARKED, tonumber(due[place + 1]))
    end
  end
  table.sort(found, function(one, other) return times[one] < times[other] end)
  return found
end

local function idle_reason()
  if job.leased > 0 or job.state == 'lost' then return nil end
  if job.state ~= 'active' then return job.state end
  if job.queued == 0 then return 'empty' end
  if end_reason(job) then return end_reason(job) end
  if is_spent(job) then return 'pages' end
  if not all_capped() then return nil end
  local none_held = job.held + job.rendered_held == 0
  local only_assets = asset_permits_of(job) == 0 and none_held and job.assets_queued >= job.queued
  return only_assets and 'assets' or 'pages_per_host'
end

job.end_reason, job.idle_reason = end_reason(job), idle_reason()
local waiting = next_hosts()
if waiting[1] then
  local name = waiting[1]
  local host, visit = host_of(name), visit_of(job, name)
  local site = site_of(site_name(name, host, visit))
  job.starts_at = start_of(host, site, visit, host_gap(job, name, host))
  job.waits_for, job.waits_for_more, job.host = name, waiting[2] ~= nil, host
end
job.ready_hosts = 0
-- Most hosts with requests for a browser have plain ones too, so the two are not added up.
for _, kind in ipairs(KINDS) do
  job.ready_hosts = math.max(job.ready_hosts, redis.call('ZCOUNT', ready_of(job, kind), '-inf', '(' .. CAPPED))
end
job.now = now
return answer(job)
