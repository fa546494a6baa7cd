-- What a job may lease, and the state of its hosts, for `lease` and for the verbs that only read.

local UNREACHABLE_AFTER_S = 15
local UNREACHABLE_FAILURES = 2
local OWNERS_PER_LANE = 64
local JOBS_PER_OWNER = 64
local UNPROVEN_ONE_IN = 4

local function end_reason(job)
  if job.state == 'cancelled' then return 'cancelled' end
  if job.stop_at and job.stop_at <= now then return 'seconds' end
  -- A job of an older version has no cost.
  if job.cost_max and (job.cost or 0) >= job.cost_max then return 'cost' end
  return job.bytes_max and job.bytes >= job.bytes_max and 'bytes' or nil
end

local function permits_of(job) return job.pages_max and math.max(0, job.pages_max - job.permits) or math.huge end

local function asset_permits_of(job)
  return job.assets_max and math.max(0, job.assets_max - job.asset_permits) or math.huge
end

local function may_lease_assets(job) return job.assets_queued > 0 and asset_permits_of(job) > 0 end

-- Whether no permit is left for anything that is queued or waits for its retry.
local function is_spent(job)
  return permits_of(job) == 0 and job.held + job.rendered_held == 0 and not may_lease_assets(job)
end

local function leasable(job) return not end_reason(job) and not is_spent(job) end

local function is_unreachable(visit)
  if visit.answered or visit.failures < UNREACHABLE_FAILURES then return false end
  return now - visit.failing_since >= UNREACHABLE_AFTER_S
end

local function longest_due(job, zset, by, n)
  local names = redis.call('ZRANGEBYSCORE', zset, '-inf', by, 'LIMIT', 0, n)
  fetch_visits(job, names)
  return names
end

-- Unproven hosts have not answered the job. How many of its next n leases are for them, if other hosts are due too:
-- every fourth, whatever n is.
local function unproven_share(job, n)
  local given = job.given or 0
  return math.floor((given + n) / UNPROVEN_ONE_IN) - math.floor(given / UNPROVEN_ONE_IN)
end

local function unproven_among(job, names)
  local unproven = {}
  for _, host in ipairs(names) do
    if not visit_of(job, host).answered then unproven[#unproven + 1] = host end
  end
  return unproven
end

-- Without a permit for a page, only hosts with other requests count.
local function due_without_pages(job, kind, by, n)
  local names = job[kind.held] > 0 and longest_due(job, held_of(job, kind), by, n) or {}
  if #names > 0 or kind == RENDERED or not may_lease_assets(job) then return names end
  return longest_due(job, assets_of(job), by, n)
end

-- The hosts to check, the longest due first, and the most leases that each unproven host gets. If unproven and answered
-- hosts are both due, the unproven ones that fit their share come first.
local function due_of_kind(job, kind, by, n, share)
  if permits_of(job) == 0 then return due_without_pages(job, kind, by, n), n end
  local due = longest_due(job, ready_of(job, kind), by, n)
  local unproven = unproven_among(job, due)
  local answered = #unproven > 0 and longest_due(job, answered_of(job, kind), by, n) or {}
  if #answered == 0 then return due, n end
  local chosen = {unpack(unproven, 1, math.min(share, #unproven))}
  local each = math.floor(share / math.max(1, #chosen))
  for _, host in ipairs(answered) do chosen[#chosen + 1] = host end
  return chosen, each
end

-- Hosts that are due for either kind are checked once, for both.
local function due_hosts(job, by, n, share, browser)
  local names, each = due_of_kind(job, PLAIN, by, n, share)
  if not browser or job.rendered == 0 then return names, each end
  local rendered, most = due_of_kind(job, RENDERED, by, n, share)
  local known, both = {}, {}
  for place = 1, math.max(#names, #rendered) do
    for _, name in ipairs({rendered[place] or false, names[place] or false}) do
      if name and not known[name] then known[name], both[#both + 1] = true, name end
    end
  end
  return both, math.min(each, most)
end

local function first_at(zset)
  local first = redis.call('ZRANGE', zset, 0, 0, 'WITHSCORES')
  return first[2] and tonumber(first[2]) or PARKED
end

-- When to check one of the job's hosts next, for a caller with a browser or without.
local function soonest(job, browser)
  local at, later = PARKED, PARKED
  if browser or job.queued > job.rendered then later = first_at(S .. ':later:' .. job.id) end
  for _, kind in ipairs(browser and job.rendered > 0 and KINDS or ONLY_PLAIN) do
    at = math.min(at, first_at(permits_of(job) > 0 and ready_of(job, kind) or held_of(job, kind)))
  end
  if permits_of(job) > 0 then return math.min(at, later) end
  return may_lease_assets(job) and math.min(at, first_at(assets_of(job)), later) or at
end
