-- flags: allow-oom
-- Extends leases. Never shortens them.
-- args: call; tokens; lease_s
-- returns the tokens that are still held

check_number('lease_s', args.lease_s, 0, 86400)

return once(function()
  local held = {}
  for _, token in ipairs(args.tokens) do
    if redis.call('HEXISTS', S .. ':leases', token) == 1 then
      redis.call('ZADD', S .. ':deadlines', 'XX', 'GT', now + args.lease_s, token)
      held[#held + 1] = token
    end
  end
  return held
end)
