-- flags: allow-oom
-- Removes keys of cancelled and forgotten jobs, some at a time.
-- args: (none)
-- returns whether more is left

local HOSTS_PER_CALL = 200
local BUCKETS_PER_CALL = 500

-- A cancelled job whose leases have all ended loses its queues; its counts stay.
local function discard_cancelled()
  for _, name in ipairs(redis.call('SMEMBERS', S .. ':jobs')) do
    local job = find_job(name)
    if job and job.state == 'cancelled' and job.leased == 0 then discard_queues(job) end
  end
end

local function remove_queues(job)
  local keys = {}
  for _, kind in ipairs(KINDS) do
    local popped = redis.call('ZPOPMIN', ready_of(job, kind), HOSTS_PER_CALL)
    for place = 1, #popped, 2 do
      for _, band in ipairs(kind.bands) do keys[#keys + 1] = queue_of(job, band, popped[place]) end
    end
  end
  if #keys > 0 then redis.call('UNLINK', unpack(keys)) end
  return #keys > 0
end

local function remove_buckets(job)
  local first, keys = math.max(0, job.buckets - BUCKETS_PER_CALL), {}
  for bucket = first, job.buckets - 1 do keys[#keys + 1] = bucket_key(job, bucket) end
  if #keys > 0 then redis.call('UNLINK', unpack(keys)) end
  redis.call('HSET', S .. ':doomed', job.id, first)
  return first > 0
end

local function remove_others(job)
  for _, kind in ipairs(KINDS) do redis.call('UNLINK', S .. kind.met .. job.id, S .. kind.held_at .. job.id) end
  for _, set in ipairs({':assets:', ':later:', ':m:', ':v:'}) do redis.call('UNLINK', S .. set .. job.id) end
  redis.call('HDEL', S .. ':doomed', job.id)
end

if redis.call('EXISTS', S .. ':doomed') == 0 then discard_cancelled() end
local id = redis.call('HRANDFIELD', S .. ':doomed')
if id then
  local job = {id = id, buckets = tonumber(redis.call('HGET', S .. ':doomed', id))}
  if not remove_queues(job) and not remove_buckets(job) then remove_others(job) end
end
save()
return answer(redis.call('EXISTS', S .. ':doomed') == 1)
