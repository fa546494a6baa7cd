-- The same as frontier/adaptive_delay.py, with the same names and steps. tests/frontier/test_redis_pace.py compares the two.

local GAP_MARGIN = 1.02
local SLOW_FACTOR = 3.2
local LATENCY_FLOOR_S = 0.015
local RECENT_WEIGHT = 0.3
local STRETCH = 1.15
local LATENCY_SLOWDOWN_MAX = 4
local ERROR_STRETCH = 2
local SLOWDOWN_MAX = 16
local RECOVERY_HALF_LIFE_S = 8
local FORGIVEN_AFTER_S = 60
local WARM_UP = 20
local USUAL_DOUBLES_S = 300
local FAILS_TO_BLOCK = 10
local BLOCK_S = 60
local BLOCK_MAX_S = 86400
local HOST_FAILURES = {dns = true, connect = true, tls = true}
local HOST_REFUSALS = {[429] = true, [503] = true}

local function slowdown_at(host)
  return now - host.learnt_at < FORGIVEN_AFTER_S and host.slowdown or 1
end

local function gap_of(gap_s, slowdown, crawl_delay_s)
  return math.max(gap_s * slowdown, crawl_delay_s) * GAP_MARGIN
end

local function block(host, block_until, reason)
  if block_until > host.block_until then
    host.block_until, host.block_reason = block_until, reason
  end
end

local function count_failure(host, landing, may_block)
  host.fails = host.fails + 1
  if may_block and host.fails >= FAILS_TO_BLOCK then
    local why = landing.status and 'status ' .. landing.status or landing.failure .. ' failures'
    block(host, now + math.min(BLOCK_S * 2 ^ host.blocks, BLOCK_MAX_S), FAILS_TO_BLOCK .. ' x ' .. why)
    host.blocks = host.blocks + 1
    host.fails = 0
  end
end

local function learn_refusal(host, landing, may_block)
  host.slowdown = math.min(host.slowdown * ERROR_STRETCH, SLOWDOWN_MAX)
  count_failure(host, landing, may_block)
  if landing.retry_after_s then
    block(host, now + math.min(landing.retry_after_s, BLOCK_MAX_S), 'retry-after')
  end
end

local function learn_usual(host, latency_s, elapsed_s)
  if host.answers < WARM_UP then
    host.answers = host.answers + 1
    host.usual_s = host.usual_s + (latency_s - host.usual_s) / host.answers
    return
  end
  local step = 2 ^ (math.min(elapsed_s, 30) / USUAL_DOUBLES_S)
  host.usual_s = latency_s > host.usual_s and host.usual_s * step or host.usual_s / step
end

-- landing: latency_s, answered, and where they apply network_s, status, failure, retry_after_s
local function learn(host, landing, may_block)
  local elapsed_s = host.learnt_at > 0 and math.max(0, now - host.learnt_at) or 0
  host.slowdown = slowdown_at(host)
  host.learnt_at = now
  if HOST_REFUSALS[landing.status] or HOST_FAILURES[landing.failure] then
    learn_refusal(host, landing, may_block)
    return
  end
  if landing.answered then host.fails, host.blocks = 0, 0 end
  local host_s = landing.network_s or landing.latency_s
  local change = host_s - host.recent_s
  host.recent_s = host.answers > 0 and host.recent_s + RECENT_WEIGHT * change or host.recent_s + host_s
  if host.answers > 0 and host.recent_s > SLOW_FACTOR * math.max(host.usual_s, LATENCY_FLOOR_S) then
    host.slowdown = math.max(host.slowdown, math.min(host.slowdown * STRETCH, LATENCY_SLOWDOWN_MAX))
  else
    host.slowdown = math.max(1, host.slowdown * 0.5 ^ (elapsed_s / RECOVERY_HALF_LIFE_S))
  end
  learn_usual(host, host_s, elapsed_s)
end
