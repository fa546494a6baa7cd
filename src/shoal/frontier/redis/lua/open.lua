-- flags: allow-oom
-- Adds a job and activates it, or gives a known job new terms.
-- args: job; known (the job must be known, and keeps its state); lost (an unknown job takes no offers yet);
--       again (this call continues an earlier one); terms (lane, owner, priority, gap_s, per_host, robots,
--       own_workers, browser, spent; pages_max, pages_per_host, assets_max, bytes_max, cost_max, stop_at if limited;
--       hosts: hostname -> {gap_s, per_host}, if any has its own)
-- returns how many hosts may still be capped: call again until 0

local CAPPED_PER_CALL = 500
local MOST_MOVED = 20000  -- hosts whose next check a shorter gap brings forward; more would hold up Redis
local HORIZON_S = 1  -- longer than any lease call looks ahead

local function new_queues(job)
  shard.id = shard.id + 1
  job.id, job.buckets, job.whole, job.seen, job.bands = string.format('%d', shard.id), 1, 1, 0, {}
  -- The queued requests were removed when the job was cancelled or forgotten.
  job.found, job.queued, job.permits, job.held = job.found - job.queued, 0, job.pages, 0
  job.asset_permits, job.assets_queued, job.rendered, job.rendered_held = job.assets, 0, 0, 0
  redis.call('HSET', S .. ':ids', job.id, job.name)
  redis.call('SADD', S .. ':jobs', job.name)
end

local function state_of(job, known)
  if args.known then return job.state end
  if not args.lost then return 'active' end
  return known and job.state or 'lost'
end

-- The shortest gap that becomes shorter with the new terms, or nil.
local function quicker(job, terms)
  local shortest = terms.gap_s < job.gap_s and terms.gap_s or nil
  for _, of_hosts in ipairs({job.hosts or {}, terms.hosts or {}}) do
    for name in pairs(of_hosts) do
      local gap_s = terms_at(terms, name)
      if gap_s < terms_at(job, name) then shortest = math.min(shortest or gap_s, gap_s) end
    end
  end
  return shortest
end

-- A job that gets a shorter gap waits no longer than that from now on, also at hosts where a later start was planned.
-- A host that keeps a longer gap is only checked too soon.
local function quicken(job, gap_s)
  job.quicker_in, job.quicker_at = job.opened, now
  local next_at = now + gap_s
  local from, to = '(' .. time_text(next_at + HORIZON_S), '(' .. time_text(PARKED)
  for _, kind in ipairs(KINDS) do
    local waiting = redis.call('ZRANGEBYSCORE', ready_of(job, kind), from, to, 'LIMIT', 0, MOST_MOVED)
    for _, host in ipairs(waiting) do move_time(job.id, kind, host, next_at) end
  end
end

local terms = args.terms
check_number('gap_s', terms.gap_s, 0, 10000)
check_number('per_host', terms.per_host, 1, 10000)
check_number('priority', terms.priority, -1e6, 1e6)
for _, limit in ipairs({'pages_max', 'pages_per_host', 'assets_max', 'bytes_max', 'cost_max', 'spent'}) do
  check_number(limit, terms[limit] or 0, 0, 1e15)
end
check_number('stop_at', terms.stop_at or 0, -FURTHEST, FURTHEST)

for _, own in pairs(terms.hosts or {}) do
  check_number('gap_s', own[1], 0, 10000)
  check_number('per_host', own[2], 1, 10000)
end

local known = args.known and job_of(args.job) or find_job(args.job)
local job = known or {name = args.job, id = NO_QUEUES, dropped = {}, edition = math.floor(now) - 1}
jobs[args.job] = job
-- Workers that remember earlier offers of the job must forget them.
if known and job.id == NO_QUEUES and not args.known then shard.epoch = shard.epoch + 1 end
for _, counts in ipairs({COUNTS, ASSET_COUNTS, RENDERED_COUNTS}) do
  for _, count in ipairs(counts) do job[count] = job[count] or 0 end
end
-- The rings depend on lane, owner and priority, so the job leaves them until it is saved.
leave_rings(job)
job.changed, job.state = true, state_of(job, known)
if job.id == NO_QUEUES and not args.known then new_queues(job) end
for _, limit in ipairs({'pages_max', 'pages_per_host', 'assets_max', 'bytes_max', 'cost_max', 'stop_at'}) do
  job[limit] = nil
end
local quicker_s = known and quicker(job, terms)
job.hosts = nil
for term, value in pairs(terms) do job[term] = value end
job.cost, job.spent = math.max(job.cost or 0, terms.spent or 0), nil
if job.stop_at then job.stop_at = job.stop_at + shard.offset_s end
if job.state == 'paused' then job.paused_at = now end
if not args.again then job.opened, job.edition = job.opened + 1, job.edition + 1 end
if quicker_s then quicken(job, quicker_s) end

local uncapped = 0
for _, kind in ipairs(KINDS) do
  local capped = redis.call('ZRANGEBYSCORE', ready_of(job, kind), CAPPED, CAPPED, 'LIMIT', 0, CAPPED_PER_CALL)
  for _, host in ipairs(capped) do move_time(job.id, kind, host, now) end
  uncapped = uncapped + #capped
end
should_wake = true
save()
return answer(uncapped)
