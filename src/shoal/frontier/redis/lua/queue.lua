-- Pending requests: lists of packed elements per (job, band, host), first in, first out. Returned ones go to the head.
--
--   {trail, line, line, ...}                    links of one page to one host, never leased so far
--   {attempt, crashes, band, trail, line}       one request that was leased before
--
-- A trail is opaque here. A line names the request within its host. Any other element is leased as it is, marked
-- unreadable, so that it becomes a dead letter.
--
-- Assets have a band of their own. They take permits of their own, and none of the pages.
--
-- Requests that need a browser are queued apart from the plain ones, which every caller may lease: in bands of their own,
-- and with check times of their own, so that no number of them is in the way of a caller without a browser.

local LINES_PER_ELEMENT = 16
local UNCAPPED_AT_ONCE = 16
local ASSETS = 'a'
-- `bands` begins with that of the held, and `held` names the job's count of them.
local PLAIN = {ready = ':r:', met = ':met:', held_at = ':held:', held = 'held', bands = {'h', ASSETS, '0', '1', '2'}}
local RENDERED = {
  ready = ':rendered:', met = ':rendered_met:', held_at = ':rendered_held:', held = 'rendered_held',
  bands = {'rh', 'r0', 'r1', 'r2'},
}
local ONLY_PLAIN, KINDS = {PLAIN}, {PLAIN, RENDERED}

local function needs_browser(band) return string.sub(band, 1, 1) == 'r' end

local function kind_of(band) return needs_browser(band) and RENDERED or PLAIN end

-- A request says which kind it is (r1, p1), or leaves it to its job (1).
local function band_in(job, asked)
  if string.sub(asked, 1, 1) == 'p' then return string.sub(asked, 2) end
  return job.browser and tonumber(asked) and 'r' .. asked or asked
end

-- That of a request which turned out to need a browser. Assets never do.
local function band_for_browser(band) return (needs_browser(band) or band == ASSETS) and band or 'r' .. band end

local function queue_of(job, band, host) return S .. ':q:' .. job.id .. ':' .. band .. ':' .. host end

local function ready_of(job, kind) return S .. kind.ready .. job.id end

local function assets_of(job) return S .. ':assets:' .. job.id end

local function answered_of(job, kind) return S .. kind.met .. job.id end

local function held_of(job, kind) return S .. kind.held_at .. job.id end

-- What a job knows about a host: {permits taken, whether it answered, failures before that, since when, in which
-- opening, the job's own next start there, the registrable domain if it differs from the host}
local function read_visit(job, name, text)
  local fields = unpacked(text or '') or {}
  if not finite(fields, 7) then fields = {} end
  local visit = {taken = fields[1] or 0, answered = fields[2] or false, next_at = fields[6] or 0, domain = fields[7]}
  visit.failures, visit.failing_since = fields[3], fields[4]
  -- A new try of the job gives silent hosts their full time again.
  if fields[5] ~= job.opened then visit.failures, visit.failing_since = 0, 0 end
  -- The job got a shorter gap after this start was planned.
  if job.quicker_in and (fields[5] or 0) < job.quicker_in then
    visit.next_at = math.min(visit.next_at, job.quicker_at + (terms_at(job, name)))
  end
  return visit
end

local function fetch_visits(job, names)
  local known, missing = visits[job.name] or {}, {}
  visits[job.name] = known
  for _, name in ipairs(names) do
    if not known[name] then missing[#missing + 1] = name end
  end
  if #missing == 0 then return end
  local texts = redis.call('HMGET', S .. ':v:' .. job.id, unpack(missing))
  for place, name in ipairs(missing) do known[name] = read_visit(job, name, texts[place]) end
end

local function visit_of(job, host)
  local known = visits[job.name]
  if not known or not known[host] then fetch_visits(job, {host}) end
  return visits[job.name][host]
end

local function packed_visit(job, visit)
  local fields = {visit.taken, visit.answered, visit.failures, visit.failing_since, job.opened, visit.next_at}
  fields[7] = visit.domain
  return cmsgpack.pack(fields)
end

savers[#savers + 1] = function()
  for name, known in pairs(visits) do
    local job, fields = jobs[name], {}
    for host, visit in pairs(known) do
      if visit.changed then
        push_pair(fields, host, packed_visit(job, visit))
      end
    end
    if #fields > 0 then redis.call('HSET', S .. ':v:' .. job.id, unpack(fields)) end
  end
end

-- State of a request that was leased and has not ended: leased, waiting or queued; false: it has ended.
local function move(job, host, line, state)
  moves[job.id] = moves[job.id] or {}
  moves[job.id][host .. ' ' .. line] = state
end

savers[#savers + 1] = function()
  for id, states in pairs(moves) do
    local moving, gone = {}, {}
    for request, state in pairs(states) do
      if state then
        push_pair(moving, request, state)
      else
        gone[#gone + 1] = request
      end
    end
    if #moving > 0 then redis.call('HSET', S .. ':m:' .. id, unpack(moving)) end
    if #gone > 0 then redis.call('HDEL', S .. ':m:' .. id, unpack(gone)) end
  end
end

local function time_of(id, kind, host) return tonumber(redis.call('ZSCORE', S .. kind.ready .. id, host) or 0) end

-- Changes the time of a host that has one. It is the same in every set of the kind.
local function move_time(id, kind, host, at)
  local text = time_text(at)
  for _, set in ipairs({kind.ready, kind.met, kind.held_at}) do redis.call('ZADD', S .. set .. id, 'XX', text, host) end
  if kind == PLAIN then redis.call('ZADD', S .. ':assets:' .. id, 'XX', text, host) end
end

-- times: host -> when to check it for requests of this kind again; false: none is queued there. A host that has no time
-- gets none: it was checked for requests of the other kind.
local function set_check_times(job, kind, times)
  local all, answered, gone = {}, {}, {}
  for host, at in pairs(times) do
    if at then
      local text = time_text(at)
      push_pair(all, text, host)
      if visit_of(job, host).answered then push_pair(answered, text, host) end
    else
      gone[#gone + 1] = host
    end
  end
  if #all > 0 then redis.call('ZADD', ready_of(job, kind), 'XX', unpack(all)) end
  if #answered > 0 then redis.call('ZADD', answered_of(job, kind), 'XX', unpack(answered)) end
  if #all > 0 and job[kind.held] > 0 then redis.call('ZADD', held_of(job, kind), 'XX', unpack(all)) end
  if #all > 0 and kind == PLAIN and job.assets_queued > 0 then redis.call('ZADD', assets_of(job), 'XX', unpack(all)) end
  if #gone > 0 then
    redis.call('ZREM', ready_of(job, kind), unpack(gone))
    redis.call('ZREM', answered_of(job, kind), unpack(gone))
  end
end

-- The job waits for a slot of this host, with the kinds that `times` has.
local function park(job, name, times)
  for _, of_kind in pairs(times) do of_kind[name] = PARKED end
  redis.call('SADD', S .. ':w:' .. name, job.id)
  local host = host_of(name)
  host.parked, host.changed = true, true
end

-- Every job that waits for a slot of this host checks it again; the job `own` not before its own next start.
local function wake(name, at, own, own_at)
  local host, key = host_of(name), S .. ':w:' .. name
  if not host.parked then return end
  host.parked, host.changed, should_wake = false, true, true
  for _, id in ipairs(redis.call('SMEMBERS', key)) do
    for _, kind in ipairs(KINDS) do
      if time_of(id, kind, name) == PARKED then move_time(id, kind, name, id == own and own_at or at) end
    end
  end
  redis.call('DEL', key)
end

-- A permit was returned, or a request was queued that may have one: check the host again if a limit kept it from that.
local function uncap(job, host)
  for _, kind in ipairs(job.rendered > 0 and KINDS or ONLY_PLAIN) do
    if time_of(job.id, kind, host) == CAPPED then
      move_time(job.id, kind, host, now)
      should_wake = true
    end
  end
end

-- A permit of an asset was returned: it may be for any of the hosts where assets wait for one.
local function uncap_assets(job)
  for _, host in ipairs(redis.call('ZRANGEBYSCORE', assets_of(job), CAPPED, CAPPED, 'LIMIT', 0, UNCAPPED_AT_ONCE)) do
    uncap(job, host)
  end
end

-- Assets were queued there. The host has a time already.
local function note_assets(job, host)
  redis.call('ZADD', assets_of(job), redis.call('ZSCORE', ready_of(job, PLAIN), host), host)
end

-- Something was queued there: check it now, unless it has a time already or is parked.
local function check_now(job, kind, host)
  if redis.call('ZADD', ready_of(job, kind), 'NX', now_text, host) == 0 then return end
  should_wake = true
  if visit_of(job, host).answered then redis.call('ZADD', answered_of(job, kind), now_text, host) end
end

-- The host has answered the job: it is proven.
local function mark_answered(job, host)
  local visit = visit_of(job, host)
  if visit.answered then return end
  visit.answered, visit.changed = true, true
  for _, kind in ipairs(job.rendered > 0 and KINDS or ONLY_PLAIN) do
    local at = redis.call('ZSCORE', ready_of(job, kind), host)
    if at then redis.call('ZADD', answered_of(job, kind), at, host) end
  end
end

-- Only bands that the job's record names are popped from. So the record is saved, whatever else the call does.
local function use_band(job, band)
  if job.bands[band] then return end
  job.bands[band], job.changed = true, true
end

local function append(job, host, band, trail, lines)
  local key = queue_of(job, band, host)
  for first = 1, #lines, LINES_PER_ELEMENT do
    local last = math.min(first + LINES_PER_ELEMENT - 1, #lines)
    redis.call('RPUSH', key, cmsgpack.pack({trail, unpack(lines, first, last)}))
  end
  use_band(job, band)
end

-- Returns a leased request to the head of its queue. One that holds its permit goes before all others.
local function return_to_queue(job, host, request, held)
  local element = request.line
  if request.readable then
    element = cmsgpack.pack({request.attempt, request.crashes, request.band, request.trail, request.line})
  end
  local kind = kind_of(request.band)
  redis.call('LPUSH', queue_of(job, held and kind.bands[1] or request.band, host), element)
  use_band(job, request.band)
  move(job, host, request.line, 'queued')
  check_now(job, kind, host)
  uncap(job, host)
  if held then
    job[kind.held] = job[kind.held] + 1
    redis.call('ZADD', held_of(job, kind), redis.call('ZSCORE', ready_of(job, kind), host), host)
  elseif request.band == ASSETS then
    note_assets(job, host)
  end
end

local function is_request(record)
  if not is_finite(record[1]) or not is_finite(record[2]) then return false end
  return type(record[3]) == 'string' and type(record[4]) == 'string' and type(record[5]) == 'string'
end

-- The requests of an element, at most `room`. The others go back to the head of their list.
local function open_element(element, room, key, band)
  local record = unpacked(element)
  if record and type(record[1]) == 'string' and type(record[2]) == 'string' then
    local requests = {}
    for place = 2, math.min(#record, room + 1) do
      requests[place - 1] =
        {trail = record[1], line = tostring(record[place]), attempt = 0, crashes = 0, band = band, readable = true}
    end
    if #record > room + 1 then
      redis.call('LPUSH', key, cmsgpack.pack({record[1], unpack(record, room + 2)}))
    end
    return requests
  end
  if record and type(record[1]) == 'number' and is_request(record) then
    local attempt, crashes, came_from, trail, line = unpack(record)
    return {{trail = trail, line = line, attempt = attempt, crashes = crashes, band = came_from, readable = true}}
  end
  local came_from = ({h = '1', rh = 'r1'})[band] or band
  return {{trail = '', line = element, attempt = 0, crashes = 0, band = came_from, readable = false}}
end

-- Takes the requests of one band into `popped`, up to n in all and up to `permits`. Returns what stopped it: 'full',
-- 'permits', or nil if the band is empty.
local function pop_band(job, band, host, n, permits, popped)
  local key, held = queue_of(job, band, host), band == kind_of(band).bands[1]
  while true do
    local room = math.min(n - #popped, permits)
    if n == #popped then return 'full' end
    if room <= 0 then return redis.call('EXISTS', key) == 1 and 'permits' or nil end
    local element = redis.call('LPOP', key)
    if not element then return nil end
    for _, request in ipairs(open_element(element, room, key, band)) do
      request.held = held
      popped[#popped + 1] = request
      permits = permits - 1
    end
  end
end

-- Takes up to n of one kind from the head; those that do not hold a permit only while `permits` of pages and assets
-- last. Also returns what is left: nil for nothing, 'assets' if only assets without a permit, else 'pages'.
local function pop_kind(job, kind, host, n, permits)
  local popped, left = {}, nil
  for place, band in ipairs(kind.bands) do
    local held, is_assets = place == 1, band == ASSETS
    local used = job.bands[band] or (held and job[kind.held] > 0)
    if used then
      local before = #popped
      local most = held and math.huge or is_assets and permits.assets or permits.pages
      local stopped = pop_band(job, band, host, n, most, popped)
      local got = #popped - before
      if held then
        job[kind.held] = job[kind.held] - got
        if not stopped then redis.call('ZREM', held_of(job, kind), host) end
      elseif is_assets then
        job.assets_queued = math.max(0, job.assets_queued - got)
        if not stopped then redis.call('ZREM', assets_of(job), host) end
      else
        permits.pages = permits.pages - got
      end
      if stopped and not (is_assets and stopped == 'permits') then return popped, 'pages' end
      left = stopped and 'assets' or left
    end
  end
  return popped, left
end

local function add_to(list, others)
  for _, one in ipairs(others) do list[#list + 1] = one end
end

-- Takes up to n, at most `room` of them for a browser; nil: the caller has none. Plain requests and those for a browser
-- take turns, so that neither wait until the other queue is empty. Also returns what is left of each kind.
local function pop(job, host, n, permits, room)
  local left = {}
  if not room then
    local popped
    popped, left[PLAIN] = pop_kind(job, PLAIN, host, n, permits)
    return popped, left
  end
  local half = (job.given or 0) % 2 == 0 and math.ceil(n / 2) or math.floor(n / 2)
  local popped, others
  popped, left[RENDERED] = pop_kind(job, RENDERED, host, math.min(half, room), permits)
  others, left[PLAIN] = pop_kind(job, PLAIN, host, n - #popped, permits)
  local more = math.min(n - #popped - #others, room - #popped)
  add_to(popped, others)
  if more > 0 then
    others, left[RENDERED] = pop_kind(job, RENDERED, host, more, permits)
    add_to(popped, others)
  end
  return popped, left
end
