-- flags: no-writes
-- How a job stands.
-- args: job
-- returns the job, with: over, rest (as the contract names them), the host it waits for and when that may be asked

local job = job_of(args.job)

local function all_capped()
  local first = redis.call('ZRANGE', ready_of(job), 0, 0, 'WITHSCORES')
  return (not first[2] or tonumber(first[2]) >= CAPPED) and redis.call('EXISTS', S .. ':later:' .. job.id) == 0
end

local function rest()
  if job.leased > 0 or job.state == 'lost' then return nil end
  if job.state ~= 'active' then return job.state end
  if job.queued == 0 then return 'empty' end
  if over(job) then return over(job) end
  if permits_of(job) == 0 and job.held == 0 then return 'pages' end
  return all_capped() and 'pages_per_host' or nil
end

job.over, job.rest = over(job), rest()
local waiting = redis.call('ZRANGEBYSCORE', ready_of(job), '-inf', '(' .. CAPPED, 'LIMIT', 0, 2)
if waiting[1] then
  local name = waiting[1]
  local host, visit = host_of(name), visit_of(job, name)
  local site = site_of(site_name(name, host, visit))
  job.starts_at = start_of(host, site, visit, host_gap(job, host))
  job.waits_for, job.waits_for_more, job.host = name, waiting[2] ~= nil, host
end
job.now = now
return answer(job)
