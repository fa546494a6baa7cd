-- Ends leases, and returns their slots, starts, permits and requests.

-- A lease with unusable fields counts as not held.
local function read_lease(fields)
  local lease = named(LEASE, fields)
  local counted = is_finite(lease.start_at) and is_finite(lease.gap_s) and is_finite(lease.attempt) and is_finite(lease.crashes)
  for _, field in ipairs({'job', 'id', 'host', 'band', 'trail', 'line'}) do
    if type(lease[field]) ~= 'string' then return nil end
  end
  return counted and lease or nil
end

local function fetch_leases(tokens)
  if #tokens == 0 then return end
  for place, text in ipairs(redis.call('HMGET', S .. ':leases', unpack(tokens))) do
    local fields = unpacked(text or '')
    leases[tokens[place]] = fields and read_lease(fields)
  end
end

savers[#savers + 1] = function()
  if #changed_leases > 0 then redis.call('HSET', S .. ':leases', unpack(changed_leases)) end
  if #ended > 0 then
    redis.call('HDEL', S .. ':leases', unpack(ended))
    redis.call('ZREM', S .. ':deadlines', unpack(ended))
  end
end

-- Ends a lease that was fetched before, and frees its slot. Returns lease and job; nil if it was not held, or the job
-- was forgotten since.
local function end_lease(token)
  local lease = leases[token]
  leases[token] = nil
  ended[#ended + 1] = token
  if not lease then return nil end
  if lease.slot and not lease.landed then
    local host = host_of(lease.host)
    host.in_flight, host.changed = math.max(0, host.in_flight - 1), true
    wake(lease.host, now)
  end
  local job = find_job(lease.job)
  if not job or job.id ~= lease.id then return nil end
  job.leased, job.changed = job.leased - 1, true
  return lease, job
end

local function clocks_of(job, lease)
  local host, visit = host_of(lease.host), visit_of(job, lease.host)
  return host, site_of(site_name(lease.host, host, visit)), visit
end

-- Returns the start of a request that was never made, unless another was planned after it.
local function return_start(job, lease)
  if not lease.slot then return end
  local host, site, visit = clocks_of(job, lease)
  if not unplan(host, site, visit, lease) then return end
  for _, id in ipairs(redis.call('HKEYS', S .. ':ids')) do
    for _, kind in ipairs(KINDS) do
      local at = time_of(id, kind, lease.host)
      if at > lease.start_at and at < PARKED then move_time(id, kind, lease.host, lease.start_at) end
    end
  end
end

local function return_permit(job, lease)
  if lease.band == ASSETS then
    local was_spent = job.assets_max and job.asset_permits >= job.assets_max
    job.asset_permits = math.max(0, job.asset_permits - 1)
    if was_spent then uncap_assets(job) end
    return
  end
  local visit = visit_of(job, lease.host)
  visit.taken, visit.changed = visit.taken - 1, true
  job.permits = job.permits - 1
  uncap(job, lease.host)
end

local function queue_again(job, lease, held)
  job.queued, shard.queued = job.queued + 1, shard.queued + 1
  if lease.band == ASSETS and not held then job.assets_queued = job.assets_queued + 1 end
  if needs_browser(lease.band) then job.rendered = job.rendered + 1 end
  return_to_queue(job, lease.host, lease, held)
end

local COUNTED = {done = 'pages', redirect = 'redirects', dead = 'dead'}

-- Counts a request that has ended for good.
local function count_end(job, outcome, bytes, reason, is_asset)
  if outcome == 'done' and is_asset then
    job.assets = job.assets + 1
  elseif outcome == 'drop' then
    job.dropped[reason] = (job.dropped[reason] or 0) + 1
  else
    job[COUNTED[outcome]] = job[COUNTED[outcome]] + 1
  end
  if outcome == 'done' then job.bytes = job.bytes + bytes end
end

-- A lease stores only a hash of its caller, because names are long. If two hashes collide, a lease returns too early.
local function short_name(caller) return string.sub(redis.sha1hex(caller), 1, 10) end
