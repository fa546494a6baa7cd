-- flags: allow-oom
-- Ends leases after everything that they found is stored.
-- args: call; completions (token, outcome, started, bytes, cost if any; for a drop its reason; for a retry delay_s,
--       counted, needs_browser (whether only callers with a browser get it), and a trail with its band if it is replaced)
-- returns for each whether its token was still held

local function retry_later(job, lease, completion)
  local trail, band = completion.trail or lease.trail, completion.band and band_in(job, completion.band) or lease.band
  -- A new trail may give it another priority, but not take the browser from it.
  if completion.needs_browser or needs_browser(lease.band) then band = band_for_browser(band) end
  local attempt = lease.attempt + (completion.counted and 1 or 0)
  local request = cmsgpack.pack({lease.host, attempt, lease.crashes, band, trail, lease.line})
  redis.call('ZADD', S .. ':later:' .. job.id, now + completion.delay_s, request)
  move(job, lease.host, lease.line, 'waiting')
  job.queued, shard.queued = job.queued + 1, shard.queued + 1
  if band == ASSETS then job.assets_queued = job.assets_queued + 1 end
  if needs_browser(band) then job.rendered = job.rendered + 1 end
end

local function complete(completion)
  local lease, job = end_lease(completion.token)
  if not lease then return false end
  local outcome = completion.outcome
  job.cost = (job.cost or 0) + (completion.cost or 0)
  if not completion.started then return_start(job, lease) end
  if outcome ~= 'done' then return_permit(job, lease) end
  if outcome == 'retry' then
    retry_later(job, lease, completion)
    return true
  end
  move(job, lease.host, lease.line, false)
  count_end(job, outcome, completion.bytes, completion.reason, lease.band == ASSETS)
  return true
end

for _, completion in ipairs(args.completions) do
  check_number('delay_s', completion.delay_s, 0, 1e8)
  check_number('bytes', completion.bytes, 0, 1e15)
  check_number('cost', completion.cost or 0, 0, 1e15)
end

return once(function()
  local accepted, tokens, newest_first = {}, {}, {}
  for place, completion in ipairs(args.completions) do
    tokens[place], newest_first[place] = completion.token, place
  end
  fetch_leases(tokens)
  -- Of several requests that were not started, each returns its start to the one before it.
  table.sort(newest_first, function(one, other) return tonumber(tokens[one]) > tonumber(tokens[other]) end)
  for _, place in ipairs(newest_first) do accepted[place] = complete(args.completions[place]) end
  return accepted
end)
