-- flags: allow-oom
-- Pauses, resumes, cancels, forgets, erases or touches jobs.
-- args: word (pause, resume, cancel, forget, erase, touch); jobs
-- returns true

local MOST_BUCKETS = 50000  -- of the largest possible job; removing missing ones costs little
local verbs = {}

function verbs.pause(job)
  if job.state == 'active' then job.state, job.paused_at = 'paused', now end
end

function verbs.resume(job)
  if job.state ~= 'paused' then return end
  job.state, should_wake = 'active', true
  if job.stop_at then job.stop_at = job.stop_at + now - job.paused_at end
end

-- Its leases may still end, so its keys stay until `sweep` finds no lease.
function verbs.cancel(job) job.state = 'cancelled' end

function verbs.forget(job)
  if job.id ~= NO_QUEUES then discard_queues(job) end
end

-- Its leases expire by themselves. Workers that remember its offers must forget them.
function verbs.erase(job)
  if job.id ~= NO_QUEUES then discard_queues(job) end
  redis.call('DEL', S .. ':j:' .. job.name)
  jobs[job.name], shard.epoch = nil, shard.epoch + 1
  if redis.call('EXISTS', S .. ':jobs') == 0 then shard.queued = 0 end
end

-- A job whose record cannot be read still has keys.
local function unreadable(name)
  local ids = redis.call('HGETALL', S .. ':ids')
  for place = 1, #ids, 2 do
    local id = ids[place]
    if ids[place + 1] == name then
      return {name = name, id = id, buckets = MOST_BUCKETS, queued = 0, rendered = 0}
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

steer(args.word, args.jobs)
save()
return answer(true)
