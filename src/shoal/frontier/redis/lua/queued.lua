-- flags: no-writes
-- Some of a job's queued requests, over all its hosts, some hosts at a time.
-- args: job; cursor ('0' at first); rendered (those that need a browser, or the others)
-- returns the next cursor ('0': that was all) and pairs of a host and elements of its queues, the first of each

local HOSTS_AT_ONCE = 50
local OF_A_QUEUE = 200
local MOST = 2000

local job = job_of(args.job)
local kind = args.rendered and RENDERED or PLAIN
local scanned = redis.call('ZSCAN', ready_of(job, kind), args.cursor, 'COUNT', HOSTS_AT_ONCE)
local found, n = {}, 0
for place = 1, #scanned[2], 2 do
  local host = scanned[2][place]
  for _, band in ipairs(kind.bands) do
    local elements = n < MOST and redis.call('LRANGE', queue_of(job, band, host), 0, OF_A_QUEUE - 1) or {}
    if #elements > 0 then push_pair(found, host, elements) end
    n = n + #elements
  end
end
return answer({scanned[1], found})
