-- flags: allow-oom
-- Returns unstarted leases to the head of their queues.
-- args: call; tokens, newest first, so that they end up in the order they were leased; wait_s;
--       needs_browser (whether from now on only callers with a browser get them)
-- returns true

local function release(token)
  local lease, job = end_lease(token)
  if not lease then return end
  return_start(job, lease)
  return_permit(job, lease)
  if args.needs_browser then lease.band = band_for_browser(lease.band) end
  queue_again(job, lease, false)
  if args.wait_s > 0 then
    local visit = visit_of(job, lease.host)
    visit.next_at, visit.changed = math.max(visit.next_at, now + args.wait_s), true
  end
end

check_number('wait_s', args.wait_s, 0, 1e8)

return once(function()
  fetch_leases(args.tokens)
  for _, token in ipairs(args.tokens) do release(token) end
  return true
end)
