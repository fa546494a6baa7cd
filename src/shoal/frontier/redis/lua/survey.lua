-- flags: no-writes
-- How full the frontier is and how long its requests have waited, some jobs at a time.
-- args: cursor ('0' at first)
-- returns the next cursor ('0': that was all); by lane the numbers queued and leased, and the seconds that the most
-- overdue host has waited for a worker; the age of the oldest lease

local JOBS_AT_ONCE = 500
local MOST_LEASES = 20000

local function overdue_s(job)
  if job.state ~= 'active' or job.queued == 0 or not leasable(job) then return 0 end
  local at = permits_of(job) == 0 and may_lease_assets(job) and first_at(assets_of(job)) or PARKED
  for _, kind in ipairs(job.rendered > 0 and KINDS or ONLY_PLAIN) do
    at = math.min(at, first_at(permits_of(job) > 0 and ready_of(job, kind) or held_of(job, kind)))
  end
  return math.max(0, now - at)
end

local function oldest_lease_s()
  local oldest = nil
  for _, token in ipairs(redis.call('ZRANGE', S .. ':deadlines', 0, MOST_LEASES - 1)) do
    -- A token is the time of its lease, in microseconds.
    oldest = math.min(oldest or math.huge, tonumber(token))
  end
  return oldest and math.max(0, now - oldest / 1e6) or 0
end

local scanned = redis.call('SSCAN', S .. ':jobs', args.cursor, 'COUNT', JOBS_AT_ONCE)
local lanes = {}
for _, name in ipairs(scanned[2]) do
  local job = find_job(name)
  if job then
    local sums = lanes[tostring(job.lane)] or {0, 0, 0}
    sums[1], sums[2], sums[3] = sums[1] + job.queued, sums[2] + job.leased, math.max(sums[3], overdue_s(job))
    lanes[tostring(job.lane)] = sums
  end
end
return answer({scanned[1], lanes, args.cursor == '0' and oldest_lease_s() or 0})
