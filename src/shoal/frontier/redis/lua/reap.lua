-- flags: allow-oom
-- Returns expired leases to the head of their queues. The holder is gone, but may have stored the page: permits are kept.
-- args: blamed (a set of tokens whose page was being parsed), all_leases (no worker can be alive), most
-- returns how many ended; call again if that is `most`

local by = args.all_leases and '+inf' or now
local tokens = redis.call('ZRANGEBYSCORE', S .. ':deadlines', '-inf', by, 'LIMIT', 0, args.most)
-- The newest first, each to the head: they end up in the order they were leased.
table.sort(tokens, function(one, other) return tonumber(one) > tonumber(other) end)

fetch_leases(tokens)
for _, token in ipairs(tokens) do
  local lease, job = end_lease(token)
  if lease then
    lease.crashes = lease.crashes + (args.blamed[token] and 1 or 0)
    queue_again(job, lease, true)
  end
end
save()
return answer(#tokens)
