-- Decides when a request may start. Three clocks must allow it: the job's own for the host (its visit), the host's, and
-- the site's. A site is all hosts of one registrable domain at one address. Each clock holds the next planned start
-- (next_at). Those of hosts and sites also hold how long after the last start that is (gap_s).
--
-- A job waits for its own gap only. Between two jobs the shorter of their gaps applies. So together they send no more
-- than the quicker one may, and a slow job delays no other. Two times apply to every job: the host's floor_at (set by a
-- new crawl-delay, or by a worker that released a lease) and its block_until.

local SITE = {'next_at', 'gap_s', 'home'}

-- Sites are named by their domain, and at other addresses also by address: `example.com`, `example.com@192.0.2.7`.
local function site_name(name, host, visit)
  return host.site ~= '' and host.site or visit.domain or name
end

local function fetch_sites(names)
  local keys, missing = {}, {}
  for _, name in ipairs(names) do
    if not sites[name] then
      keys[#keys + 1], missing[#missing + 1], sites[name] = S .. ':c:' .. name, name, true
    end
  end
  if #keys == 0 then return end
  for place, text in ipairs(redis.call('MGET', unpack(keys))) do
    local site = named(SITE, text and unpacked(text) or {})
    if not is_finite(site.next_at) or not is_finite(site.gap_s) then site.next_at, site.gap_s = 0, 0 end
    site.home = type(site.home) == 'string' and site.home or ''
    sites[missing[place]] = site
  end
end

local function site_of(name)
  if not sites[name] then fetch_sites({name}) end
  return sites[name]
end

savers[#savers + 1] = function()
  for name, site in pairs(sites) do
    if site.changed then
      local life = math.ceil(math.max(0, site.next_at - now)) + HOST_QUIET_S
      redis.call('SET', S .. ':c:' .. name, listed(SITE, site), 'EX', life)
    end
  end
end

-- The job's gap at a host, and how many requests it may have in flight there. Hosts with terms of their own are named
-- without a port.
local function terms_at(job, name)
  local own = job.hosts and (job.hosts[name] or job.hosts[(string.gsub(name, ':%d+$', ''))])
  if own then return own[1], own[2] end
  return job.gap_s, job.per_host
end

local function host_gap(job, name, host)
  local gap_s = terms_at(job, name)
  if host.rate then gap_s = host.rate > 0 and 1 / host.rate or 0 end
  return gap_of(gap_s, slowdown_at(host), job.robots and host.crawl_delay_s or 0)
end

-- When a start with this gap may follow the planned one.
local function follows(clock, gap_s) return clock.next_at - math.max(0, clock.gap_s - gap_s) end

local function start_of(host, site, visit, gap_s)
  return math.max(visit.next_at, host.floor_at, host.block_until, follows(host, gap_s), follows(site, gap_s))
end

-- A quicker job among slow ones follows its own last start. The slow ones keep the start planned before.
local function plan(clock, next_at, gap_s)
  local last_at = next_at - gap_s
  clock.next_at = math.max(clock.next_at, next_at)
  clock.gap_s, clock.changed = clock.next_at - last_at, true
end

-- Plans n starts of one job at one host, a gap apart.
local function plan_starts(host, site, visit, next_at, gap_s)
  plan(host, next_at, gap_s)
  -- Without a gap there is nothing to keep, unless another job's start is still to come.
  if gap_s > 0 or site.next_at > now then plan(site, next_at, gap_s) end
  visit.next_at, visit.changed = next_at, true
end

local function is_planned_last(clock, lease) return math.abs(clock.next_at - lease.start_at - lease.gap_s) < 1e-4 end

-- Clocks shared with other jobs: the last start is this lease's, or was returned by a later lease.
local function is_last_start(clock, lease)
  return is_planned_last(clock, lease) and (clock.gap_s == 0 or math.abs(clock.gap_s - lease.gap_s) < 1e-4)
end

-- Returns the start of a request that was never made, unless another was planned after it. Returns whether any clock
-- went back.
local function unplan(host, site, visit, lease)
  local went_back = false
  for _, clock in ipairs({host, site}) do
    if is_last_start(clock, lease) then
      clock.next_at, clock.gap_s, clock.changed, went_back = lease.start_at, 0, true, true
    end
  end
  if is_planned_last(visit, lease) then visit.next_at, visit.changed = lease.start_at, true end
  return went_back
end

-- Moves the plan after a start that came late: the next one, perhaps another worker's, keeps its gap from then.
local function plan_after(host, site, visit, began_at, gap_s)
  for _, clock in ipairs({host, site}) do
    if began_at > clock.next_at - clock.gap_s then plan(clock, began_at + gap_s, gap_s) end
  end
  visit.next_at, visit.changed = math.max(visit.next_at, began_at + gap_s), true
end

local function hold(host, until_at) host.floor_at, host.changed = math.max(host.floor_at, until_at), true end

-- The first known address of a site is its home. A host at another address shares a clock with the hosts there.
local function place_host(host, domain, address)
  if host.address == address then return end
  local site = site_of(domain)
  host.address, host.changed = address, true
  if site.home == '' then site.home, site.changed = address, true end
  local name = site.home == address and domain or domain .. '@' .. address
  host.site = name
end
