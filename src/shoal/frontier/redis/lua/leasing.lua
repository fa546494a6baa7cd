-- What a job may lease at all, and how hosts stand to it: for `lease`, and for those who look on.

local UNREACHABLE_AFTER_S = 15
local UNREACHABLE_FAILURES = 2
local JOBS_PER_LANE = 64

local function over(job)
  if job.state == 'cancelled' then return 'cancelled' end
  if job.stop_at and job.stop_at <= now then return 'seconds' end
  return job.bytes_max and job.bytes >= job.bytes_max and 'bytes' or nil
end

local function permits_of(job) return job.pages_max and math.max(0, job.pages_max - job.permits) or math.huge end

local function leasable(job) return not over(job) and (permits_of(job) > 0 or job.held > 0) end

local function is_unreachable(visit)
  if visit.answered or visit.failures < UNREACHABLE_FAILURES then return false end
  return now - visit.failing_since >= UNREACHABLE_AFTER_S
end

local function host_gap(job, host)
  local gap_s = job.gap_s
  if host.rate then gap_s = host.rate > 0 and 1 / host.rate or 0 end
  return gap_of(gap_s, slowdown_at(host), job.robots and host.crawl_delay_s or 0)
end

-- The hosts to look at by a time. With no permit left, only those where a request holds its own.
local function due_hosts(job, by, n)
  local zset = permits_of(job) > 0 and ready_of(job) or S .. ':held:' .. job.id
  return redis.call('ZRANGEBYSCORE', zset, '-inf', by, 'LIMIT', 0, n)
end

local function first_at(zset)
  local first = redis.call('ZRANGE', zset, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or PARKED
end
