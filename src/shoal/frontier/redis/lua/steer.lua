-- flags: allow-oom
-- Pauses, resumes, cancels, forgets, erases a job or begins its next edition; or pauses every job but some.
-- args: word (pause, resume, cancel, forget, erase, touch, focus); jobs
-- returns true

local MOST_BUCKETS = 50000  -- of a job as large as they may be; those that are not there cost little to remove
local verbs = {}

function verbs.pause(job)
  if job.state == 'active' then job.state, job.paused_at = 'paused', now end
end

function verbs.resume(job)
  if job.state ~= 'paused' then return end
  job.state, roused = 'active', true
  if job.stop_at then job.stop_at = job.stop_at + now - job.paused_at end
end

-- Its leases may still end, so its keys stay until `sweep` finds none.
function verbs.cancel(job) job.state = 'cancelled' end

function verbs.forget(job)
  if job.id ~= NO_QUEUES then doom(job) end
end

-- Its leases end by themselves; workers who remember what it was offered must forget that.
function verbs.erase(job)
  if job.id ~= NO_QUEUES then doom(job) end
  redis.call('DEL', S .. ':j:' .. job.name)
  jobs[job.name], shard.epoch = nil, shard.epoch + 1
  if redis.call('EXISTS', S .. ':jobs') == 0 then shard.queued = 0 end
end

-- One whose record cannot be read still has its keys.
local function unreadable(name)
  local ids = redis.call('HGETALL', S .. ':ids')
  for place = 1, #ids, 2 do
    local id = ids[place]
    if ids[place + 1] == name then
      return {name = name, id = id, buckets = MOST_BUCKETS, queued = 0}
    end
  end
end

function verbs.touch(job) job.edition = job.edition + 1 end

local function steer(word, names)
  for _, name in ipairs(names) do
    local job = word == 'erase' and (find_job(name) or unreadable(name)) or job_of(name)
    verbs[word](job)
    job.changed = true
  end
end

if args.word == 'focus' then
  local kept, others = {}, {}
  for _, name in ipairs(args.jobs) do kept[name] = true end
  for _, name in ipairs(redis.call('SMEMBERS', S .. ':jobs')) do
    if not kept[name] then others[#others + 1] = name end
  end
  steer('pause', others)
else
  steer(args.word, args.jobs)
end
save()
return answer(true)
