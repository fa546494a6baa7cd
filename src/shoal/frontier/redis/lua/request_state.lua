-- flags: no-writes
-- args: job, host, fingerprint; cursor (place among the job's leased, waiting and returned requests), band and first
--       (place among the queued)
-- returns: the next cursor and some of those requests with their states; some queued elements; whether the job has
--          seen the fingerprint

local MOST = 500
local job = job_of(args.job)
local scanned = args.cursor and redis.call('HSCAN', S .. ':m:' .. job.id, args.cursor, 'COUNT', MOST) or {'0', {}}
local queued = redis.call('LRANGE', queue_of(job, args.band, args.host), args.first, args.first + MOST - 1)
local seen = redis.call('SISMEMBER', bucket_of(job, args.fingerprint), args.fingerprint) == 1
return answer({scanned[1], scanned[2], queued, seen})
