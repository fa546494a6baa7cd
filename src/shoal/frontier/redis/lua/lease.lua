-- Leases requests whose hosts may be fetched by now + horizon: the best lane first, owners in turn, then the owner's
-- jobs in turn.
-- args: call; n; lanes (numbers, best first); browsers (how many may be requests that need one); horizon_s; lease_s;
--       job (lease from this one only) or false
-- returns now and the leases, packed, each after its token

local LOOKS_PER_JOB = 256
local LOOK_AHEAD = 8
local PROMOTED_PER_CALL = 100
check_number('n', args.n, 0, 1e6)
check_number('browsers', args.browsers or 0, 0, 1e6)
check_number('horizon_s', args.horizon_s, 0, 3600)
check_number('lease_s', args.lease_s, 0, 86400)
local by = now + args.horizon_s
local by_text = time_text(by)
local deadlines, tokens, caller = {}, {}, short_name(args.call[1])
local times = {}  -- kind -> check times of the hosts seen, to be written together
local browsers = args.browsers or 0  -- how many requests that need a browser may still be leased
local found_jobs = {}  -- jobs of each owner seen
local many_owners = false  -- more owners than one call checks: each owner seen goes to the end
local crowded = false  -- the owner has more jobs than one call checks: each job seen goes to the end

local function promote(job, text)
  local fields = unpacked(text)
  if not fields or #fields ~= 6 or type(fields[1]) ~= 'string' or not is_request({unpack(fields, 2)}) then
    job.dropped.malformed = (job.dropped.malformed or 0) + 1
    job.queued, shard.queued, job.changed = job.queued - 1, shard.queued - 1, true
    return
  end
  local host, attempt, crashes, band, trail, line = unpack(fields)
  local request = {attempt = attempt, crashes = crashes, band = band, trail = trail, line = line, readable = true}
  return_to_queue(job, host, request, false)
end

local function promote_due(job)
  local key = S .. ':later:' .. job.id
  local due = redis.call('ZRANGEBYSCORE', key, '-inf', now_text, 'LIMIT', 0, PROMOTED_PER_CALL)
  -- Latest first, each to the head, so that they end up in the order they were due.
  for place = #due, 1, -1 do promote(job, due[place]) end
  if #due > 0 then redis.call('ZREM', key, unpack(due)) end
end

local function next_token()
  shard.token = math.max(shard.token + 1, math.floor(now * 1e6))
  return string.format('%d', shard.token)
end

local function give(job, host, visit, requests, terms)
  local fresh, assets, rendered = 0, 0, 0
  for place, request in ipairs(requests) do
    if needs_browser(request.band) then rendered = rendered + 1 end
    local token, start_at = next_token(), terms.start_at + (place - 1) * terms.gap_s
    request.job, request.id, request.host = job.name, job.id, host
    request.start_at, request.gap_s, request.slot, request.landed = start_at, terms.gap_s, terms.slot, false
    request.edition, request.caller = job.edition, caller
    tokens[#tokens + 1] = token
    push_pair(changed_leases, token, listed(LEASE, request))
    push_pair(deadlines, start_at + args.lease_s, token)
    move(job, host, request.line, 'leased')
    if not request.held and request.band == ASSETS then
      assets = assets + 1
    elseif not request.held then
      fresh = fresh + 1
    end
  end
  visit.taken, visit.changed = visit.taken + fresh, true
  job.asset_permits = job.asset_permits + assets
  job.rendered, browsers = math.max(0, job.rendered - rendered), browsers - rendered
  job.queued, job.leased, job.permits = job.queued - #requests, job.leased + #requests, job.permits + fresh
  job.changed, shard.queued = true, shard.queued - #requests
  return #requests
end

local function set_time(name, at)
  for _, of_kind in pairs(times) do of_kind[name] = at end
end

-- Nothing was popped: the host has nothing queued, is capped, or is checked again (permits of pages ran out meanwhile).
local function leave(host, capped, left)
  for kind, of_kind in pairs(times) do
    of_kind[host] = left[kind] and ((capped or left[kind] == 'assets') and CAPPED or now) or false
  end
  return 0
end

-- How many requests for a browser may be taken there; nil: only plain ones are looked at.
local function room_for_browser() return times[RENDERED] and browsers end

local function of_unreachable(job, name, visit, quota, permits, capped)
  local requests, left = pop(job, name, quota, permits, room_for_browser())
  if #requests == 0 then return leave(name, capped, left) end
  return give(job, name, visit, requests, {start_at = now, gap_s = 0, slot = false})
end

local function of_host(job, name, quota)
  local visit = visit_of(job, name)
  local here = job.pages_per_host and math.max(0, job.pages_per_host - visit.taken) or math.huge
  local permits, capped = {pages = math.min(here, permits_of(job)), assets = asset_permits_of(job)}, here == 0
  if is_unreachable(visit) then return of_unreachable(job, name, visit, quota, permits, capped) end

  local host = host_of(name)
  local site, gap_s = site_of(site_name(name, host, visit)), host_gap(job, name, host)
  local _, most = terms_at(job, name)
  local start_at, room = math.max(now, start_of(host, site, visit, gap_s)), most - host.in_flight
  if host.paused or room <= 0 then
    park(job, name, times)
    return 0
  end
  if start_at > by then
    set_time(name, start_at)
    return 0
  end
  local starts = gap_s == 0 and quota or math.floor((by - start_at) / gap_s) + 1
  local requests, left = pop(job, name, math.min(quota, room, starts), permits, room_for_browser())
  if #requests == 0 then return leave(name, capped, left) end

  plan_starts(host, site, visit, start_at + #requests * gap_s, gap_s)
  host.in_flight = host.in_flight + #requests
  if #requests == room then park(job, name, times) else set_time(name, visit.next_at) end
  for kind, of_kind in pairs(times) do
    if not left[kind] then of_kind[name] = false end
  end
  return give(job, name, visit, requests, {start_at = start_at, gap_s = gap_s, slot = true})
end

-- Every queued request is under a host that is checked, or waits for its retry. If the count is higher, the others were
-- in elements that could not be read.
local function write_off_unreadable(job)
  if job.assets_queued > 0 and redis.call('EXISTS', assets_of(job), S .. ':later:' .. job.id) == 0 then
    job.assets_queued, job.changed = 0, true
  end
  local times_of = {ready_of(job, PLAIN), ready_of(job, RENDERED), S .. ':later:' .. job.id}
  if redis.call('EXISTS', unpack(times_of)) > 0 then return end
  job.dropped.malformed = (job.dropped.malformed or 0) + job.queued
  job.queued, job.rendered, shard.queued, job.changed = 0, 0, shard.queued - job.queued, true
end

local function fetch_sites_of(job, names)
  local wanted = {}
  for place, name in ipairs(names) do wanted[place] = site_name(name, host_of(name), visit_of(job, name)) end
  fetch_sites(wanted)
end

-- Serves each host in turn. Returns how many leases that made, and how many of them are for unproven hosts.
local function of_hosts(job, names, each, quota)
  local got, unproven = 0, 0
  times = {[PLAIN] = {}, [RENDERED] = browsers > 0 and job.rendered > 0 and {} or nil}
  for _, host in ipairs(names) do
    if got >= quota or is_spent(job) or (times[RENDERED] and browsers == 0) then break end
    local answered = visit_of(job, host).answered
    local given = of_host(job, host, math.min(answered and quota or each, quota - got))
    got, unproven = got + given, unproven + (answered and 0 or given)
    job.given = (job.given or 0) + given
  end
  for kind, of_kind in pairs(times) do set_check_times(job, kind, of_kind) end
  return got, unproven
end

local function of_job(job, quota)
  promote_due(job)
  local got, looks, share = 0, 0, unproven_share(job, quota)
  while got < quota and looks < LOOKS_PER_JOB and leasable(job) do
    local names, each = due_hosts(job, by_text, quota - got + LOOK_AHEAD, share, browsers > 0)
    if #names == 0 then break end
    fetch_hosts(names)
    fetch_sites_of(job, names)
    local given, unproven = of_hosts(job, names, each, quota - got)
    got, share, looks = got + given, share - unproven, looks + #names
  end
  if got == 0 and job.queued > 0 then write_off_unreadable(job) end
  if got > 0 or crowded then
    shard.turn = shard.turn + 1
    job.turn, job.changed = shard.turn, true
    for _, ring in ipairs(RINGS) do
      if job[ring.listed] then redis.call('ZADD', ring_of(job, ring), place_of(job), job.id) end
    end
  end
  return got
end

-- Peers share what is left of n, each at least one. Those that used all of their share get another.
local function in_turns(peers, n, serve)
  local got = 0
  while #peers > 0 and got < n do
    local share, hungry = math.max(1, math.floor((n - got) / #peers)), {}
    for _, peer in ipairs(peers) do
      local quota = math.min(share, n - got)
      local taken = quota > 0 and serve(peer, quota) or 0
      got = got + taken
      if taken > 0 and taken >= quota then hungry[#hungry + 1] = peer end
    end
    peers = hungry
  end
  return got
end

-- A job that no offer, retry or permit can help before it is saved again leaves the ring, so that it takes no place.
local function leave_ring(job)
  leave_rings(job)
  job.changed = nil
  redis.call('SET', S .. ':j:' .. job.name, cmsgpack.pack(job))
  jobs[job.name] = nil
end

-- Adds the jobs of a ring that can be leased from. Returns how many the ring has, of those that one call checks.
local function add_jobs(found, key, ring)
  local ids = redis.call('ZRANGE', key, 0, JOBS_PER_OWNER - 1)
  for _, id in ipairs(ids) do
    local job = job_of_id(id)
    if not job or not job[ring.listed] or ring_of(job, ring) ~= key then
      -- Another version listed it here. It is listed again when it is saved.
      redis.call('ZREM', key, id)
      if job then job.listed, job.browser_listed, job.changed = false, false, true end
    elseif found[id] then
      -- It is in the other ring too.
    elseif leasable(job) then
      found[#found + 1], found[id] = job, true
    else
      leave_ring(job)
    end
  end
  return #ids
end

local function goes_first(one, other)
  local place, others = place_of(one), place_of(other)
  return place < others or (place == others and one.id < other.id)
end

-- Reads them once per call: an owner may be served again, when its jobs have already changed.
local function jobs_of(lane, owner)
  local ring, browser_ring, found = ring_key(lane, owner), browser_ring_key(lane, owner), {}
  if found_jobs[ring] then
    crowded = found_jobs[ring].crowded
    return found_jobs[ring]
  end
  found_jobs[ring] = found
  local most = add_jobs(found, ring, RINGS[1])
  if browsers > 0 then
    most = math.max(most, add_jobs(found, browser_ring, RINGS[2]))
    table.sort(found, goes_first)
  end
  crowded = most == JOBS_PER_OWNER
  found.crowded = crowded
  if most == 0 and redis.call('EXISTS', ring, browser_ring) == 0 then redis.call('ZREM', owners_of(lane), owner) end
  return found
end

-- Jobs of one priority share. Higher priorities come first.
local function of_owner(lane, owner, n)
  local got, peers, last = 0, {}, nil
  for _, job in ipairs(jobs_of(lane, owner)) do
    if last and job.priority ~= last then
      got, peers = got + in_turns(peers, n - got, of_job), {}
    end
    if leasable(job) and (browsers > 0 or job.queued > job.rendered) then peers[#peers + 1] = job end
    last = job.priority
  end
  got = got + in_turns(peers, n - got, of_job)
  if got > 0 or many_owners then
    shard.turn = shard.turn + 1
    redis.call('ZADD', owners_of(lane), 'XX', shard.turn, owner)
  end
  return got
end

-- Jobs that a version without owners has listed are listed again when this call saves.
local function adopt_ring(lane)
  local old = S .. ':ring:' .. lane
  if redis.call('EXISTS', old) == 0 then return end
  for _, id in ipairs(redis.call('ZRANGE', old, 0, -1)) do
    local job = job_of_id(id)
    if job then job.listed, job.browser_listed, job.changed = false, false, true end
  end
  redis.call('DEL', old)
end

-- Every owner gets the same share of the fleet, however many jobs it has.
local function of_lane(lane, n)
  adopt_ring(lane)
  local owners = redis.call('ZRANGE', owners_of(lane), 0, OWNERS_PER_LANE - 1)
  many_owners = #owners == OWNERS_PER_LANE
  return in_turns(owners, n, function(owner, quota) return of_owner(lane, owner, quota) end)
end

local function of_lanes()
  local got = 0
  for _, lane in ipairs(args.lanes) do
    if got >= args.n then break end
    got = got + of_lane(lane, args.n - got)
  end
  return got
end

local function of_named(job)
  return job.state == 'active' and job.id ~= NO_QUEUES and leasable(job) and of_job(job, args.n) or 0
end

local function lease()
  if awaits_comparison() then return tokens end
  local got = args.job and of_named(job_of(args.job)) or of_lanes()
  if got > 0 then
    shard.leased_at = now
    redis.call('ZADD', S .. ':deadlines', unpack(deadlines))
  end
  return tokens
end

-- A repeated call returns only leases that are still held.
local function render(kept)
  local found = {now}
  if #kept == 0 then return found end
  for place, lease in ipairs(redis.call('HMGET', S .. ':leases', unpack(kept))) do
    if lease then push_pair(found, kept[place], lease) end
  end
  return found
end

return once(lease, render)
