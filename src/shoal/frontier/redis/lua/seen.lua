-- Which fingerprints a job was ever offered, exactly, in about 9 bytes each. They are in sets of integers so small that
-- Redis stores them as sorted arrays (intsets, up to 512 members): there is one bucket for every 200 members.
--
-- This is linear hashing, with whole <= buckets < 2 whole, and whole a power of 2. A number's bucket is its remainder
-- modulo 2 whole, or modulo whole if that bucket does not exist yet. Adding a bucket moves members out of exactly one
-- other, so the work of a call is bounded.
-- Lua's numbers are doubles: a fingerprint stays text, and its last twelve digits choose the bucket.

local MEMBERS_PER_BUCKET = 200

local function bucket_key(job, bucket) return S .. ':s:' .. job.id .. ':' .. bucket end

local function digits_of(fingerprint) return tonumber(string.sub(fingerprint, -12)) end

local function bucket_of(job, fingerprint)
  local digits = digits_of(fingerprint)
  local bucket = digits % (2 * job.whole)
  return bucket_key(job, bucket < job.buckets and bucket or digits % job.whole)
end

local function split_one(job)
  local from, to, moved = bucket_key(job, job.buckets - job.whole), bucket_key(job, job.buckets), {}
  for _, fingerprint in ipairs(redis.call('SMEMBERS', from)) do
    if digits_of(fingerprint) % (2 * job.whole) == job.buckets then moved[#moved + 1] = fingerprint end
  end
  if #moved > 0 then
    redis.call('SADD', to, unpack(moved))
    redis.call('SREM', from, unpack(moved))
  end
  job.buckets = job.buckets + 1
  if job.buckets == 2 * job.whole then job.whole = job.buckets end
end

-- Whether the fingerprint is new. Adds it.
local function first_seen(job, fingerprint)
  if redis.call('SADD', bucket_of(job, fingerprint), fingerprint) == 0 then return false end
  job.seen = job.seen + 1
  if job.seen > MEMBERS_PER_BUCKET * job.buckets then split_one(job) end
  return true
end
