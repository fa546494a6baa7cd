-- flags: allow-oom
-- Adds to what the whole fleet has counted.
-- args: call; counts (series and by how much, in turn)

return once(function()
  for place = 1, #args.counts, 2 do redis.call('HINCRBY', S .. ':counted', args.counts[place], args.counts[place + 1]) end
  return true
end)
