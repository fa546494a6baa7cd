-- Queues requests that their job has not seen.
-- args: call; per_job, in_all (the most requests that may be queued);
--       offers of {job, band, trail, group, ...}, each group {host, domain (false: the host itself), fingerprint, line,
--       fingerprint, line, ...}
-- returns how many were new, and the places of the groups (counted over all offers) that were not taken because too
-- much is queued

local function take(job, band, trail, group)
  local fresh = {}
  for place = 3, #group, 2 do
    if first_seen(job, group[place]) then fresh[#fresh + 1] = group[place + 1] end
  end
  if #fresh > 0 then append(job, group[1], band, trail, fresh) end
  return #fresh
end

local function is_room_for(job, group)
  local n = (#group - 2) / 2
  return job.queued + n <= args.per_job and shard.queued + n <= args.in_all
end

local function add_all(zset, names)
  local times_and_hosts = {}
  for _, host in ipairs(names) do push_pair(times_and_hosts, now_text, host) end
  return redis.call('ZADD', zset, 'NX', unpack(times_and_hosts))
end

-- Something was queued under these hosts: check them now, unless they have a time already or are parked.
local function check_all_now(job, kind, names)
  if #names == 0 or add_all(ready_of(job, kind), names) == 0 then return end
  should_wake = true
  fetch_visits(job, names)
  local answered = {}
  for _, host in ipairs(names) do
    if visit_of(job, host).answered then answered[#answered + 1] = host end
  end
  if #answered > 0 then add_all(answered_of(job, kind), answered) end
end

-- Before the first lease of a host: the clock of its site applies to its first request too.
local function note_domains(job, domains)
  local names = {}
  for host in pairs(domains) do names[#names + 1] = host end
  fetch_visits(job, names)
  for _, host in ipairs(names) do
    local visit = visit_of(job, host)
    if not visit.domain then visit.domain, visit.changed = domains[host], true end
  end
end

local function take_offer(offer, count, left)
  local job, trail, looks, domains, new = job_of(offer[1]), offer[3], {}, {}, 0
  local band = band_in(job, offer[2])
  for place = 4, #offer do
    local group = offer[place]
    count = count + 1
    -- Nothing more will be fetched for a cancelled or forgotten job.
    if job.id == NO_QUEUES then
    elseif not is_room_for(job, group) then
      left[#left + 1] = count
    else
      local n = take(job, band, trail, group)
      job.queued, shard.queued, new = job.queued + n, shard.queued + n, new + n
      if band == ASSETS then job.assets_queued = job.assets_queued + n end
      if needs_browser(band) then job.rendered = job.rendered + n end
      if n > 0 then looks[#looks + 1] = group[1] end
      if n > 0 and group[2] then domains[group[1]] = group[2] end
    end
  end
  note_domains(job, domains)
  check_all_now(job, kind_of(band), looks)
  if band == ASSETS or job.assets_max then
    -- A limit that does not apply to these requests may have capped the hosts.
    for _, host in ipairs(looks) do uncap(job, host) end
  end
  if band == ASSETS then
    for _, host in ipairs(looks) do note_assets(job, host) end
  end
  job.found, job.changed = job.found + new, true
  return new, count
end

-- Before anything is written: a function has no rollback.
for _, offer in ipairs(args.offers) do
  if job_of(offer[1]).state == 'lost' then error({err = 'NOJOB ' .. offer[1]}) end
end

return once(function()
  local new, count, left = 0, 0, {}
  for _, offer in ipairs(args.offers) do
    local n
    n, count = take_offer(offer, count, left)
    new = new + n
  end
  return {new, left}
end)
