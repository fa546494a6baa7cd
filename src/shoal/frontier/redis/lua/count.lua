-- flags: allow-oom
-- Adds to the counters of the whole fleet.
-- args: call; counts (series, amount, series, amount, ...)

return once(function()
  for place = 1, #args.counts, 2 do redis.call('HINCRBY', S .. ':counted', args.counts[place], args.counts[place + 1]) end
  return true
end)
