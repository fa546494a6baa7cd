-- Whether this server may be behind the store: it was restarted, or is a replica that took over, since its queues were
-- last compared with the store. Then it would give out requests that have ended, so nothing is leased.

-- A server keeps its run_id for as long as it runs, and the library at most as long.
local run_id

local function awaits_comparison()
  local compared = redis.call('GET', S .. ':compared')
  if not compared then return false end
  run_id = run_id or string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  return compared ~= run_id
end
