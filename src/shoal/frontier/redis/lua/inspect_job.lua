-- flags: no-writes
-- The state of a job.
-- args: job
-- returns the job, with: end_reason and idle_reason (see the contract), the host it waits for, when that may be fetched, and how
-- many hosts have queued requests

local job = job_of(args.job)

local function all_capped()
  local first = redis.call('ZRANGE', ready_of(job), 0, 0, 'WITHSCORES')
  return (not first[2] or tonumber(first[2]) >= CAPPED) and redis.call('EXISTS', S .. ':later:' .. job.id) == 0
end

local function idle_reason()
  if job.leased > 0 or job.state == 'lost' then return nil end
  if job.state ~= 'active' then return job.state end
  if job.queued == 0 then return 'empty' end
  if end_reason(job) then return end_reason(job) end
  if is_spent(job) then return 'pages' end
  if not all_capped() then return nil end
  local only_assets = asset_permits_of(job) == 0 and job.held == 0 and job.assets_queued >= job.queued
  return only_assets and 'assets' or 'pages_per_host'
end

job.end_reason, job.idle_reason = end_reason(job), idle_reason()
local waiting = redis.call('ZRANGEBYSCORE', ready_of(job), '-inf', '(' .. CAPPED, 'LIMIT', 0, 2)
if waiting[1] then
  local name = waiting[1]
  local host, visit = host_of(name), visit_of(job, name)
  local site = site_of(site_name(name, host, visit))
  job.starts_at = start_of(host, site, visit, host_gap(job, host))
  job.waits_for, job.waits_for_more, job.host = name, waiting[2] ~= nil, host
end
job.ready_hosts = redis.call('ZCOUNT', ready_of(job), '-inf', '(' .. CAPPED)
job.now = now
return answer(job)
