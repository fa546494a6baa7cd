-- All keys of a shard. S is its hash tag: one declared key fixes the slot, and all others share it.
-- <id> is the number of a job's queues, <job> its name, <host> a host's name. Times are in seconds, like `now`.
--
--   S:shard                  msgpack   state of the whole shard: see `new_shard`
--   S:jobs                   set       names of the jobs that are not forgotten
--   S:j:<job>                msgpack   a job: its terms, state, counts and the size of its seen set
--   S:ids                    hash      id -> job, while its queues exist
--   S:owners:<lane>          zset      owners of jobs that may have something to lease, by turn
--   S:ring:<lane>:<owner>    zset      ids of such jobs of an owner, by priority, then by turn
--   S:browser_ring:<lane>:<owner>  zset  the same for jobs with requests that need a browser, which most callers have not
--   S:r:<id>                 zset      host -> when to check it, if anything is queued there; PARKED, CAPPED: not now
--   S:met:<id>               zset      the same times, only of hosts that have answered the job
--   S:held:<id>              zset      the same times, only of hosts with requests that have kept their permit
--   S:assets:<id>            zset      the same times, only of hosts with queued assets
--   S:rendered:<id>          zset      like r, for requests that need a browser; likewise rendered_met, rendered_held
--   S:q:<id>:<band>:<host>   list      pending requests, packed (queue.lua); bands h for the held, a for assets, 0, 1, 2;
--                                      rh, r0, r1, r2 for those that need a browser
--   S:later:<id>             zset      retries -> when they are due
--   S:m:<id>                 hash      requests that were leased and have not ended -> leased, waiting or queued
--   S:v:<id>                 hash      host -> what the job knows about it: permits taken, whether it answered
--   S:s:<id>:<bucket>        set       fingerprints the job was ever offered, in buckets small enough to be intsets
--   S:h:<host>               msgpack   a host's clock and learned pace; expires when the host has been quiet
--   S:c:<site>               msgpack   the clock that the hosts of a site share (clock.lua); expires like theirs
--   S:w:<host>               set       ids of the jobs parked there until a slot is free
--   S:deadlines              zset      token -> when the lease expires
--   S:leases                 hash      token -> the lease, packed
--   S:call:<caller>          hash      verb -> its last sequence number and replies; expires
--   S:counted                hash      counter series -> total of the whole fleet
--   S:doomed                 hash      id whose keys will be removed -> seen buckets left
--   S:whole                  string    run_id of the server in which the frontier was last complete
--   S:broken                 string    verb and error of a call that failed halfway, and may have changed a part
--   S:compared               string    run_id of the server whose queues were last compared with the store; no other leases
--   S:wake                   channel   something may be leased now that could not be before
--   S:clock                  string    set by tests only, see `time_of_day`
--
-- A command from Lua costs a microsecond on top of its work. So shard, jobs, hosts and other records are read
-- together, changed in memory, and written by `save` at the end of the call.
--
-- A function has no rollback. So a verb checks its arguments, and what it reads, before it writes anything. If a verb
-- fails all the same, it marks the frontier as broken (`guarded`).

-- The state of one call. `begin` resets it, because Redis keeps the library between calls.
local S, VERB, args, shard, now, now_text, should_wake
local jobs, hosts, sites, visits, moves, leases, changed_leases, ended
local savers = {}

local CALL_S = 600
local FIGURES_S = 7 * 86400
local HOST_QUIET_S = 900
local HOST_MARKED_S = 86400
local CLOCK_SLACK_S = 1
local NO_QUEUES = '0'
local PARKED = 1e15  -- the host is full or paused; a landing or an operator wakes it
-- A limit of the job keeps everything there from being leased: that of pages of the host, or that of assets. A returned
-- permit wakes it.
local CAPPED = 2e15

local HOST = {
  'next_at', 'in_flight', 'block_until', 'slowdown', 'usual_s', 'recent_s', 'answers', 'learnt_at', 'fails', 'blocks',
  'block_reason', 'crawl_delay_s', 'crawl_delay_at', 'rate', 'paused', 'parked', 'gap_s', 'floor_at', 'site',
  'address',
}
local NEW_HOST = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, '', 0, 0, false, false, false, 0, 0, '', ''}
local LEASE = {
  'job', 'id', 'host', 'band', 'start_at', 'gap_s', 'slot', 'landed', 'attempt', 'crashes', 'trail', 'line', 'readable',
  'edition', 'caller',
}

-- Refuses a call before anything has changed.
local function refuse(what) error({err = 'REFUSED ' .. VERB .. ': ' .. what}) end

local FURTHEST = 1e12  -- beyond every valid time, size and number

local function is_finite(value) return type(value) == 'number' and value >= -FURTHEST and value <= FURTHEST end

-- NaN compares false with everything, so it is outside every range.
local function check_number(name, value, least, most)
  if not (type(value) == 'number' and value >= least and value <= most) then
    refuse(name .. ' cannot be ' .. tostring(value))
  end
end

-- Whether each of the first n fields is a number or missing.
local function finite(fields, n)
  for place = 1, n do
    local value = fields[place]
    if type(value) == 'number' and not is_finite(value) then return false end
  end
  return true
end

-- A key instead of an argument: so a test can set the time for all callers at once, and no caller can ever send its
-- own.
local function time_of_day()
  local set = redis.call('GET', S .. ':clock')
  if set then return tonumber(set) end
  local t = redis.call('TIME')
  return tonumber(t[1]) + tonumber(t[2]) / 1e6
end

-- Two assignments: in a single one, the second field would be set first and land outside the table's array.
local function push_pair(list, one, other)
  local n = #list
  list[n + 1] = one
  list[n + 2] = other
end

-- A number that goes to several commands is formatted once: formatting costs more than most of a command.
local function time_text(at) return string.format('%.17g', at) end

local function unpacked(text)
  local readable, record = pcall(cmsgpack.unpack, text)
  return readable and type(record) == 'table' and record or nil
end

local function new_shard()
  return {epoch = 0, token = 0, leased_at = 0, offset_s = 0, turn = 0, id = 0, queued = 0}
end

local function begin(verb, keys, argv)
  S, VERB, args, should_wake = keys[1], verb, cmsgpack.unpack(argv[1]), false
  jobs, hosts, sites, visits, moves, leases, changed_leases, ended = {}, {}, {}, {}, {}, {}, {}, {}
  shard = unpacked(redis.call('GET', S .. ':shard') or '') or new_shard()
  now = time_of_day() + shard.offset_s
  -- The server's clock was set back. Ours continues from where it was; otherwise every host would wait until it catches up.
  if now < shard.leased_at - CLOCK_SLACK_S then
    shard.offset_s = shard.offset_s + shard.leased_at - now
    now = shard.leased_at
  end
  now_text = time_text(now)
end

local COUNTS = {'found', 'queued', 'leased', 'pages', 'redirects', 'dead', 'bytes', 'permits', 'held', 'turn', 'opened'}
-- A job of an older version lacks them: assets that ended, permits that assets took, and assets that are queued or wait
-- for a retry, without the held.
local ASSET_COUNTS = {'assets', 'asset_permits', 'assets_queued'}
-- The same of requests that need a browser: those queued or waiting for a retry, and the held among them.
local RENDERED_COUNTS = {'rendered', 'rendered_held'}
local LATER_COUNTS = {ASSET_COUNTS, RENDERED_COUNTS}

local TERMS = {'lane', 'priority', 'gap_s', 'per_host', 'edition'}

-- A record with unusable numbers counts as missing: the caller gets NOJOB, and the job is restored from the store.
local function read_job(text)
  local job = unpacked(text)
  if not job or type(job.dropped) ~= 'table' or type(job.bands or {}) ~= 'table' then return nil end
  if type(job.hosts) ~= 'table' then job.hosts = nil end
  for _, own in pairs(job.hosts or {}) do
    if type(own) ~= 'table' or not is_finite(own[1]) or not is_finite(own[2]) then return nil end
  end
  for _, term in ipairs(TERMS) do
    if not is_finite(job[term]) then return nil end
  end
  for _, count in ipairs(COUNTS) do
    if type(job[count]) ~= 'number' or job[count] ~= job[count] then return nil end
  end
  for _, counts in ipairs(LATER_COUNTS) do
    for _, count in ipairs(counts) do
      if not is_finite(job[count]) then job[count] = 0 end
    end
  end
  return job
end

local function find_job(name)
  if not jobs[name] then jobs[name] = read_job(redis.call('GET', S .. ':j:' .. name) or '') end
  return jobs[name]
end

local function job_of(name)
  return find_job(name) or error({err = 'NOJOB ' .. name})
end

local function job_of_id(id)
  local name = redis.call('HGET', S .. ':ids', id)
  return name and find_job(name)
end

-- Hosts and leases are stored as lists of their fields in a fixed order. In memory they are tables with names.
local function named(names, fields)
  local record = {}
  for place = 1, #names do record[names[place]] = fields[place] end
  return record
end

local function listed(names, record)
  local fields = {}
  for place = 1, #names do fields[place] = record[names[place]] end
  return cmsgpack.pack(fields)
end

-- An invalid field gets the value of a new host. A record of an older version lacks the last fields. Only `rate` may
-- have two types: false means no rate.
local function read_host(text)
  local fields, host = text and unpacked(text) or NEW_HOST, {}
  for place = 1, #HOST do
    local value, new = fields[place], NEW_HOST[place]
    local field, kind = HOST[place], type(value)
    if kind ~= type(new) and not (field == 'rate' and kind == 'number') then
      value = new
    elseif kind == 'number' and not is_finite(value) then
      value = new
    end
    host[field] = value
  end
  return host
end

local function fetch_hosts(names)
  local keys, missing = {}, {}
  for _, name in ipairs(names) do
    if not hosts[name] then keys[#keys + 1], missing[#missing + 1] = S .. ':h:' .. name, name end
  end
  if #keys == 0 then return end
  for place, text in ipairs(redis.call('MGET', unpack(keys))) do hosts[missing[place]] = read_host(text) end
end

local function host_of(name)
  if not hosts[name] then fetch_hosts({name}) end
  return hosts[name]
end

-- A host's record stays while anything is in flight or waits there, or an operator has settings for it; then for a time.
local function save_host(name, host)
  local key, text = S .. ':h:' .. name, listed(HOST, host)
  if host.in_flight > 0 or host.parked or host.paused or host.rate then
    redis.call('SET', key, text)
    return
  end
  local marked = host.crawl_delay_s > 0 or host.fails > 0 or host.blocks > 0
  local busy_s = math.max(0, host.block_until - now, host.next_at - now, host.floor_at - now)
  redis.call('SET', key, text, 'EX', math.ceil(busy_s) + (marked and HOST_MARKED_S or HOST_QUIET_S))
end

local function owners_of(lane) return S .. ':owners:' .. lane end

local function ring_key(lane, owner) return S .. ':ring:' .. lane .. ':' .. owner end

local function browser_ring_key(lane, owner) return S .. ':browser_ring:' .. lane .. ':' .. owner end

-- In which rings a job is listed, and by how many queued requests.
local RINGS = {
  {key = ring_key, listed = 'listed', queued = function(job) return job.queued - job.rendered end},
  {key = browser_ring_key, listed = 'browser_listed', queued = function(job) return job.rendered end},
}

local function ring_of(job, ring) return ring.key(job.lane, job.owner or '') end

local function leave_rings(job)
  for _, ring in ipairs(RINGS) do
    if job[ring.listed] then redis.call('ZREM', ring_of(job, ring), job.id) end
    job[ring.listed] = false
  end
end

-- Higher priority first, then the job served longest ago: both in one exact double.
local function place_of(job)
  return math.max(-1000, math.min(1000, job.priority)) * -2 ^ 41 + job.turn
end

local function save_job(job)
  local is_served = job.state == 'active' and job.id ~= NO_QUEUES and not job.own_workers
  for _, ring in ipairs(RINGS) do
    local listed = is_served and ring.queued(job) > 0
    if listed and not job[ring.listed] then
      redis.call('ZADD', ring_of(job, ring), place_of(job), job.id)
      redis.call('ZADD', owners_of(job.lane), 'NX', shard.turn, job.owner or '')
    end
    if job[ring.listed] and not listed then redis.call('ZREM', ring_of(job, ring), job.id) end
    job[ring.listed] = listed
  end
  job.changed = nil
  local life = job.id == NO_QUEUES and {'EX', FIGURES_S} or {}
  redis.call('SET', S .. ':j:' .. job.name, cmsgpack.pack(job), unpack(life))
end

local function save()
  if shard.epoch == 0 then
    local t = redis.call('TIME')
    shard.epoch = tonumber(t[1]) * 1e6 + tonumber(t[2])
  end
  -- Hosts first: if anything after them fails, none of their slots stays taken.
  for name, host in pairs(hosts) do
    if host.changed then save_host(name, host) end
  end
  for _, saver in ipairs(savers) do saver() end
  for _, job in pairs(jobs) do
    if job.changed then save_job(job) end
  end
  redis.call('SET', S .. ':shard', cmsgpack.pack(shard))
  if should_wake then redis.call('PUBLISH', S .. ':wake', '') end
end

local function answer(reply) return cmsgpack.pack({shard.epoch, reply}) end

-- Runs a verb. If it fails halfway, it may have made a part of its changes: then the frontier is marked as broken, and
-- every job is restored from the store. NOJOB and REFUSED are raised before anything changes.
local function guarded(verb, keys, argv, may_write, act)
  begin(verb, keys, argv)
  local ok, reply = pcall(act)
  if ok then return reply end
  local text = type(reply) == 'table' and reply.err or tostring(reply)
  local is_ours = string.find(text, '^NOJOB ') or string.find(text, '^REFUSED ')
  if is_ours then return redis.error_reply(text) end
  if may_write then redis.call('SET', S .. ':broken', verb .. ': ' .. text) end
  return redis.error_reply('BROKEN ' .. verb .. ': ' .. text)
end

-- Runs `act`, unless this part of this call was answered before: then it returns that answer. So a client whose
-- connection broke may send the same call again. `render` turns the stored reply into the one to send.
local function once(act, render)
  local caller, seq, part = args.call[1], args.call[2], args.call[3]
  local key, replies = S .. ':call:' .. caller, {}
  local last = unpacked(redis.call('HGET', key, VERB) or '')
  if last and last.seq > seq then
    return redis.error_reply('STALE ' .. VERB .. ' ' .. seq .. ' of ' .. caller .. ' came after its ' .. last.seq)
  end
  if last and last.seq == seq then replies = last.replies end
  if replies[part] == nil then
    replies[part] = act()
    save()
    redis.call('HSET', key, VERB, cmsgpack.pack({seq = seq, replies = replies}))
    redis.call('EXPIRE', key, CALL_S)
  end
  return answer(render and render(replies[part]) or replies[part])
end
