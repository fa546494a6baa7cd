-- flags: no-writes
-- args: lanes (numbers); job (this one only) or false; browser (whether the caller has one)
-- returns the seconds until a lease could succeed, false if only a landing, an offer or an operator changes that

local JOBS_PER_CALL = 500
local SOON_S = 0.5

if awaits_comparison() then return answer(false) end

if args.job then
  local job = job_of(args.job)
  local is_served = job.state == 'active' and job.id ~= NO_QUEUES and leasable(job)
  local at = is_served and soonest(job, args.browser) or PARKED
  return answer(at < PARKED and math.max(0, at - now))
end

local at, left = PARKED, JOBS_PER_CALL
for _, lane in ipairs(args.lanes) do
  local owners = redis.call('ZRANGE', owners_of(lane), 0, OWNERS_PER_LANE - 1)
  -- Owners beyond these are not checked; the next leases bring them forward. So they do jobs of older versions.
  local others = #owners == OWNERS_PER_LANE or redis.call('EXISTS', S .. ':ring:' .. lane) == 1
  if others then at = math.min(at, now + SOON_S) end
  for _, owner in ipairs(owners) do
    local rings = {ring_key(lane, owner), args.browser and browser_ring_key(lane, owner) or nil}
    for _, ring in ipairs(rings) do
      local ids = redis.call('ZRANGE', ring, 0, math.min(left, JOBS_PER_OWNER) - 1)
      left = math.max(1, left - #ids)
      for _, id in ipairs(ids) do
        local job = job_of_id(id)
        if job and leasable(job) then at = math.min(at, soonest(job, args.browser)) end
      end
    end
  end
end
return answer(at < PARKED and math.max(0, at - now))
