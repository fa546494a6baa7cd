-- A job whose queues are no longer needed keeps its counts. It gets new queues if it is ever opened again. Its keys
-- are listed for `sweep`, because removing them all in one call could take seconds.

local function discard_queues(job)
  redis.call('HSET', S .. ':doomed', job.id, job.buckets)
  redis.call('HDEL', S .. ':ids', job.id)
  redis.call('SREM', S .. ':jobs', job.name)
  leave_rings(job)
  shard.queued = shard.queued - job.queued
  job.id, job.changed = NO_QUEUES, true
end
