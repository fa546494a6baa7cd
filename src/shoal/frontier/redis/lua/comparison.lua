-- Whether this server may be behind the store: it was restarted, or a replica took over, since its queues were last
-- compared with the store. It might then lease requests that have ended already, so nothing is leased.

-- A server keeps its run_id as long as it runs. It keeps the library no longer than that.
local run_id

local function awaits_comparison()
  local compared = redis.call('GET', S .. ':compared')
  if not compared then return false end
  run_id = run_id or string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  return compared ~= run_id
end
