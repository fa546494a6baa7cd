-- flags: allow-oom
-- Returns leases to the head of their queues. The holder is gone, but may have stored the page, so permits are kept.
-- args: blamed (token -> crashes: its page was being parsed), all_leases (no worker can be alive), most;
--       gone (callers) and cursor (place among all leases): returns the leases of these callers instead of expired ones
-- returns how many ended, and the next cursor; call again if it was `most`, or until the cursor is 0

local function expired()
  local by = args.all_leases and '+inf' or now
  return redis.call('ZRANGEBYSCORE', S .. ':deadlines', '-inf', by, 'LIMIT', 0, args.most)
end

local function of_gone()
  local names, tokens = {}, {}
  for _, caller in ipairs(args.gone) do names[short_name(caller)] = true end
  local cursor, found = unpack(redis.call('HSCAN', S .. ':leases', args.cursor, 'COUNT', args.most))
  for place = 1, #found, 2 do
    local fields = unpacked(found[place + 1])
    if fields and names[named(LEASE, fields).caller] then tokens[#tokens + 1] = found[place] end
  end
  return tokens, cursor
end

local tokens, cursor = {}, '0'
if args.gone then tokens, cursor = of_gone() else tokens = expired() end
-- Newest first, each to the head, so that they end up in the order they were leased.
table.sort(tokens, function(one, other) return tonumber(one) > tonumber(other) end)

fetch_leases(tokens)
for _, token in ipairs(tokens) do
  local lease, job = end_lease(token)
  if lease then
    lease.crashes = lease.crashes + (args.blamed[token] or 0)
    queue_again(job, lease, true)
  end
end
save()
return answer({#tokens, cursor})
